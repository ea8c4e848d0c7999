//! Figures of a matrix, as written to `fabric.json`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fabric::figures::Bandwidth;

/// Network between all hosts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Matrix {
    pub(crate) message_bytes: usize,
    /// This machine to all nodes at once; missing if it could not be measured.
    pub(crate) fan_out: Option<Bandwidth>,
    /// All nodes to this machine at once; missing if it could not be measured.
    pub(crate) incast: Option<Bandwidth>,
    /// Rates from each host to each other host, while no other pair used either of them.
    pub(crate) pairs: Vec<Pair>,
    /// Hosts and pairs that are clearly slower than the rest.
    pub(crate) slow: Vec<SlowFinding>,
    /// Measurements that failed, in all rounds or in some, each with its reason.
    pub(crate) failures: Vec<String>,
}

/// Rate from one host to another.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pair {
    pub(crate) from: Host,
    pub(crate) to: Host,
    /// Median rate of the rounds, in payload bytes per second; missing if the pair could not be
    /// measured.
    pub(crate) bytes_per_second: Option<f64>,
    pub(crate) rounds_bytes_per_second: Vec<f64>,
    /// Share of the window in which the busiest I/O thread was busy in the median round, from 0 to
    /// 1. The thread belongs to the sending node, or to this machine if it is an end of the pair.
    pub(crate) busy: Option<f64>,
}

impl Pair {
    /// Returns true if an I/O thread was saturated, so that the processor limited the rate.
    pub(crate) fn is_bound_by_processor(&self) -> bool {
        self.busy.is_some_and(|share| share >= crate::fabric::figures::SATURATED_SHARE)
    }
}

/// End of a pair.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Host {
    /// This machine, the LoadGen node.
    Here,
    /// Node, by its name.
    Node(String),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("(here)"),
            Self::Node(name) => f.write_str(name),
        }
    }
}

/// Host or pair that is clearly slower than the fastest quarter of the comparable pairs, by more
/// than the rounds vary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SlowFinding {
    pub(crate) what: SlowPart,
    /// Rate of the pair; for a host, the rate of its best pair.
    pub(crate) bytes_per_second: f64,
    /// Rate that the fastest quarter of the comparable pairs reaches.
    pub(crate) usual_bytes_per_second: f64,
    /// Number of measured rounds; for a host, the rounds of its best pair.
    pub(crate) rounds: usize,
}

/// Slow part of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SlowPart {
    /// Node that sends slowly to every host.
    Sender(String),
    /// Node that receives slowly from every host.
    Receiver(String),
    /// Path between two hosts that are not slow with other hosts.
    Pair(Host, Host),
}

impl SlowPart {
    /// Returns true if this part makes the path from one host to another slow.
    pub(crate) fn covers(&self, from: &Host, to: &Host) -> bool {
        let is = |host: &Host, name: &str| matches!(host, Host::Node(node) if node == name);
        match self {
            // Nodes are judged by their pairs with other nodes.
            Self::Sender(name) => is(from, name) && *to != Host::Here,
            Self::Receiver(name) => is(to, name) && *from != Host::Here,
            Self::Pair(slow_from, slow_to) => slow_from == from && slow_to == to,
        }
    }
}
