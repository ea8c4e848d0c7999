//! The figures of a matrix, as they are written to `fabric.json`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fabric::figures::Bandwidth;

/// The network between all hosts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Matrix {
    pub(crate) message_bytes: usize,
    /// This machine to all nodes at once; none where it could not be measured.
    pub(crate) fan_out: Option<Bandwidth>,
    /// All nodes to this machine at once; none where it could not be measured.
    pub(crate) incast: Option<Bandwidth>,
    /// From each host to each other one, while nobody else measured with either of them.
    pub(crate) pairs: Vec<Pair>,
    /// What is clearly slower than the rest.
    pub(crate) slow: Vec<Slow>,
    /// What could not be measured, or not in all rounds, each with its reason.
    pub(crate) failures: Vec<String>,
}

/// From one host to another.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pair {
    pub(crate) from: Host,
    pub(crate) to: Host,
    /// The median of the rounds, payload bytes; none where it could not be measured.
    pub(crate) bytes_per_second: Option<f64>,
    pub(crate) rounds_bytes_per_second: Vec<f64>,
    /// The share of the window that the busiest I/O thread was, in that round, from 0 to 1: of the node that sends, or of this
    /// machine where it is an end.
    pub(crate) busy: Option<f64>,
}

impl Pair {
    /// Whether I/O threads had no time left.
    pub(crate) fn is_bound_by_processor(&self) -> bool {
        self.busy.is_some_and(|share| share >= crate::fabric::figures::BUSY)
    }
}

/// An end of a pair.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Host {
    /// This machine, the LoadGen node.
    Here,
    /// A node, by its name.
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

/// A host or pair that is slower than a quarter of the comparable pairs, by more than the rounds differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Slow {
    pub(crate) what: SlowPart,
    /// What it reaches; of a host the best of its pairs.
    pub(crate) bytes_per_second: f64,
    /// What a quarter of the comparable pairs reach.
    pub(crate) usual_bytes_per_second: f64,
    /// The rounds that it was measured in; of a host those of its best pair.
    pub(crate) rounds: usize,
}

/// A part of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SlowPart {
    /// A node, to whomever it sends.
    Sender(String),
    /// A node, from whomever it receives.
    Receiver(String),
    /// The way between two hosts that are not slow with others.
    Pair(Host, Host),
}
