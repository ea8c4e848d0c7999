//! What is counted on the way to the SUT.

use std::time::{Duration, SystemTime};

use netdiv_contract::layout::InputLayout;
use netdiv_qdl::NodeReport;
use netdiv_rules::Finding;

use crate::result::{Carrier, Digests, Evidence, InterfaceTraffic, Node};

/// What was counted on the way to the SUT.
#[derive(Debug)]
pub(super) struct Counted {
    /// How messages travelled.
    pub(super) transport: Carrier,
    pub(super) tls: bool,
    /// Samples that LoadGen has issued.
    pub(super) issued: u64,
    /// Node by node, as counted, and as `result.json` says it.
    pub(super) reports: Vec<NodeReport>,
    pub(super) nodes: Vec<Node>,
    pub(super) connections_per_node: u64,
    pub(super) streams_per_connection: u64,
    /// What the nodes take.
    pub(super) input: Option<InputLayout>,
    /// When LoadGen's test began.
    pub(super) began: SystemTime,
    /// How long it took.
    pub(super) took: Duration,
    pub(super) interfaces: Vec<InterfaceTraffic>,
    /// Rules that the settings break, where the run is for a division.
    pub(super) findings: Vec<Finding>,
    pub(super) evidence: Option<Evidence>,
    pub(super) digests: Option<Digests>,
    /// Why the run failed, where that is known better than LoadGen knows it.
    pub(super) failure: Option<String>,
    /// What everybody who reads the result has to know.
    pub(super) remark: Option<String>,
}

impl Counted {
    /// Samples that were answered.
    pub(super) fn completed(&self) -> u64 {
        self.nodes.iter().map(|node| node.answered).sum()
    }

    /// Nothing yet.
    pub(super) fn new(transport: Carrier) -> Self {
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
