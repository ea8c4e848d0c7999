//! What is counted on the way to the SUT.

use std::time::{Duration, SystemTime};

use netdiv_contract::layout::InputLayout;
use netdiv_qdl::NodeReport;
use netdiv_rules::Finding;

use crate::record::{Carrier, Digests, Evidence, InterfaceTraffic, Node};

/// What was counted on the way to the SUT.
#[derive(Debug)]
pub struct Counted {
    /// How messages travelled.
    pub transport: Carrier,
    /// TLS between LoadGen node and SUT nodes.
    pub tls: bool,
    /// Samples that LoadGen has issued.
    pub issued: u64,
    /// Counters node by node.
    pub reports: Vec<NodeReport>,
    /// Nodes, as `result.json` says it.
    pub nodes: Vec<Node>,
    /// Connections to each node.
    pub connections_per_node: u64,
    /// Streams on each connection.
    pub streams_per_connection: u64,
    /// What the nodes take.
    pub input: Option<InputLayout>,
    /// When LoadGen's test began.
    pub began: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// Bytes that the interfaces to the nodes carried meanwhile.
    pub interfaces: Vec<InterfaceTraffic>,
    /// Rules that the settings break, where the run is for a division.
    pub findings: Vec<Finding>,
    /// Machines of the run.
    pub evidence: Option<Evidence>,
    /// Digests, where the run has them.
    pub digests: Option<Digests>,
    /// Why the run failed, where that is known better than LoadGen knows it.
    pub failure: Option<String>,
    /// What everybody who reads the result has to know.
    pub remark: Option<String>,
}

impl Counted {
    /// Samples that were answered.
    pub fn completed(&self) -> u64 {
        self.nodes.iter().map(|node| node.answered).sum()
    }

    /// Nothing yet.
    pub fn new(transport: Carrier) -> Self {
        Self {
            transport,
            tls: false,
            issued: 0,
            reports: Vec::new(),
            nodes: Vec::new(),
            connections_per_node: 0,
            streams_per_connection: 0,
            input: None,
            began: SystemTime::UNIX_EPOCH,
            took: Duration::ZERO,
            interfaces: Vec::new(),
            findings: Vec::new(),
            evidence: None,
            digests: None,
            failure: None,
            remark: None,
        }
    }
}
