//! Counters on the path to the SUT.

use std::time::{Duration, SystemTime};

use netdiv_contract::layout::InputLayout;
use netdiv_node_common::resources::processor::ProcessorTimes;
use netdiv_qdl::NodeReport;
use netdiv_rules::Finding;

use crate::record::{Carrier, Digests, Evidence, InterfaceTraffic, Node, Shortage};

/// Counters of a run on the path to the SUT.
#[derive(Debug)]
pub struct RunCounters {
    /// Transport of the messages.
    pub transport: Carrier,
    /// Set if TLS protects the connections between LoadGen node and SUT nodes.
    pub tls: bool,
    /// Number of samples that LoadGen has issued.
    pub issued: u64,
    /// Counters of each node.
    pub reports: Vec<NodeReport>,
    /// Nodes, as `result.json` describes them.
    pub nodes: Vec<Node>,
    /// Number of connections to each node.
    pub connections_per_node: u64,
    /// Number of streams on each connection.
    pub streams_per_connection: u64,
    /// Input that the nodes accept.
    pub input: Option<InputLayout>,
    /// Start of LoadGen's test.
    pub began: SystemTime,
    /// Length of LoadGen's test.
    pub took: Duration,
    /// Programs that were short of processor time.
    pub shortages: Vec<Shortage>,
    /// Bytes that the interfaces to the nodes carried during the test.
    pub interfaces: Vec<InterfaceTraffic>,
    /// Rules that the settings break, if the run is for a division.
    pub findings: Vec<Finding>,
    /// Evidence about the machines of the run.
    pub evidence: Option<Evidence>,
    /// Digests, if the run has them.
    pub digests: Option<Digests>,
    /// Reason for the run's failure, if the system under test knows it better than LoadGen.
    pub failure: Option<String>,
    /// Remark that every reader of the result needs.
    pub remark: Option<String>,
}

impl RunCounters {
    /// Returns the number of completed samples.
    pub fn completed(&self) -> u64 {
        self.nodes.iter().map(|node| node.answered).sum()
    }

    /// Adds the shortage of this program, if it was short of processor time during the test.
    pub(crate) fn add_own_shortage(&mut self, spent: &ProcessorTimes) {
        let machine = self.evidence.as_ref().map(|evidence| &evidence.loadgen_node);
        let host =
            machine.and_then(|machine| machine.host_name.as_deref()).unwrap_or("this machine");
        let program = format!("LoadGen node on {host}");
        self.shortages.extend(Shortage::of(program, spent, self.took));
    }

    /// Creates empty counters for a transport.
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
            shortages: Vec::new(),
            interfaces: Vec::new(),
            findings: Vec::new(),
            evidence: None,
            digests: None,
            failure: None,
            remark: None,
        }
    }
}
