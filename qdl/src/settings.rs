//! What can be chosen about a run's network side.

use std::{fmt, sync::Arc, time::Duration};

use netdiv_node_common::words::AnswerTokens;
use netdiv_transport::Options;

use crate::dispatch::Policy;

/// What a thread does first, given its number.
#[derive(Clone)]
pub struct OnThreadStart(pub Arc<dyn Fn(usize) + Send + Sync>);

impl fmt::Debug for OnThreadStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnThreadStart")
    }
}

/// Settings of the connections. Each default says where it comes from.
#[derive(Debug, Clone)]
pub struct NetworkSettings {
    /// How to reach a node; `connect_timeout` is how long to try before the run.
    pub options: Options,
    /// How long a node may take to say its name or to acknowledge a flush.
    pub control_timeout: Duration,
    /// How long a node may owe answers without giving one.
    pub sample_timeout: Duration,
    /// How long one sample may be unanswered while its node answers others.
    pub sample_deadline: Duration,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            options: Options::default(),
            control_timeout: Duration::from_secs(10),
            // The slowest benchmark, 3D-UNet on a CPU, needs some ten seconds for one sample.
            sample_timeout: Duration::from_secs(60),
            // A node takes in four batches for each engine, so that a sample may wait for four before its own.
            sample_deadline: Duration::from_secs(5 * 60),
        }
    }
}

/// What a run does when it loses a node.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    clap::ValueEnum,
    serde::Serialize,
    serde::Deserialize,
    strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OnNodeLoss {
    /// It fails.
    #[default]
    Fail,
    /// The samples that the node has not answered go to the others, as long as there are any. Those of which a part of
    /// an answer was seen cannot, and fail the run.
    Redispatch,
}

/// Within which times an answer's tokens have to come, such as LoadGen's bounds for Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBounds {
    /// Until the first token.
    pub first: Duration,
    /// For each further token, on average.
    pub further: Duration,
}

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Addresses of the SUT nodes, `host:port`.
    pub nodes: Vec<String>,
    /// Name of the cluster, the first part of the SUT's name.
    pub cluster_name: String,
    /// Connections to each node.
    pub connections_per_node: usize,
    /// Streams of samples on each connection.
    pub streams_per_connection: usize,
    /// Threads that serve the connections and complete samples.
    pub io_threads: usize,
    /// Whether these threads poll instead of sleeping: lower latency, a whole core for each.
    pub busy_poll: bool,
    /// Called by each of these threads when it starts, with its number: a place to pin it to a core.
    pub on_thread_start: Option<OnThreadStart>,
    /// Policy that gives samples to streams.
    pub policy: Policy,
    /// Samples in flight to each node, over all its connections; `None`: what the node says it takes.
    pub window_samples: Option<usize>,
    /// Payload bytes in flight to each node, likewise.
    pub window_bytes: Option<usize>,
    /// Samples that may wait for a stream; beyond it LoadGen's thread waits.
    pub inbox_samples: usize,
    /// Whether a query is complete before the next one is issued (SingleStream, MultiStream). Waiting for it
    /// inside `IssueQuery` instead of in LoadGen is what lets a failure end the test.
    pub one_query_at_a_time: bool,
    /// Whether nodes keep digests of what they receive and send, for [`crate::Qdl::digests`].
    pub digests: bool,
    /// Whether every message has a checksum.
    pub checksums: bool,
    /// What answers are made of.
    pub tokens: AnswerTokens,
    /// The bounds that LoadGen sets for the tokens of an answer, where it does.
    pub token_bounds: Option<TokenBounds>,
    /// What happens when a node is lost.
    pub on_node_loss: OnNodeLoss,
    /// Time limits.
    pub network: NetworkSettings,
}

impl Settings {
    /// Defaults for these nodes.
    pub fn new(nodes: Vec<String>) -> Self {
        Self {
            nodes,
            cluster_name: "netdiv".into(),
            connections_per_node: 1,
            streams_per_connection: 1,
            io_threads: 1,
            busy_poll: false,
            on_thread_start: None,
            policy: Policy::Pull,
            window_samples: None,
            window_bytes: None,
            // 40 bytes each: 2.6 MB, a third of a second at the highest rate LoadGen reaches in Server.
            inbox_samples: 1 << 16,
            one_query_at_a_time: false,
            digests: false,
            checksums: false,
            tokens: AnswerTokens::default(),
            token_bounds: None,
            on_node_loss: OnNodeLoss::default(),
            network: NetworkSettings::default(),
        }
    }

    /// Streams of samples to each node.
    pub(crate) fn lanes_per_node(&self) -> usize {
        self.connections_per_node.max(1) * self.streams_per_connection.max(1)
    }
}
