//! Settings of the QDL for a run.

use std::{fmt, num::NonZero, sync::Arc, time::Duration};

use clap::ValueEnum;
use netdiv_node_common::words::AnswerTokens;
use netdiv_transport::Options;
use serde::{Deserialize, Serialize};
use strum::Display;

use crate::dispatch::Policy;

/// Function that each I/O thread calls before anything else, with the thread's number.
#[derive(Clone)]
pub struct OnThreadStart(pub Arc<dyn Fn(usize) + Send + Sync>);

impl fmt::Debug for OnThreadStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnThreadStart")
    }
}

/// Option that sets [`Options::connect_timeout`].
pub(crate) const CONNECT_TIMEOUT: &str = "--connect-timeout";
/// Option that sets [`NetworkSettings::control_timeout`].
pub(crate) const CONTROL_TIMEOUT: &str = "--control-timeout";

/// Options and time limits of the connections.
#[derive(Debug, Clone)]
pub struct NetworkSettings {
    /// Options of each connection. `connect_timeout` limits one attempt to connect. Before the run,
    /// attempts to reach a node are repeated until this time has elapsed.
    pub options: Options,
    /// Maximum time for a node to send its description, to acknowledge a flush, or to send one part
    /// of its digests.
    pub control_timeout: Duration,
    /// Maximum time for which a node with samples in flight may send no response.
    pub sample_timeout: Duration,
    /// Maximum time for which one sample may be unanswered while its node answers others.
    pub sample_deadline: Duration,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            options: Options::default(),
            control_timeout: Duration::from_secs(10),
            // The slowest benchmark, 3D-UNet on a CPU, needs about ten seconds per sample.
            sample_timeout: Duration::from_secs(60),
            // A node accepts four batches per engine, so a sample may wait for four batches before
            // its own.
            sample_deadline: Duration::from_secs(5 * 60),
        }
    }
}

/// Action of a run that loses a node.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize, Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OnNodeLoss {
    /// Fail the run.
    #[default]
    Fail,
    /// Reassign the node's unanswered samples to the other nodes, if any are left. A sample of
    /// which part of the response was received cannot be reassigned, and fails the run.
    Redispatch,
}

/// Time bounds for the tokens of a response, such as the bounds that LoadGen sets in the scenario
/// Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBounds {
    /// Maximum time to the first token.
    pub first: Duration,
    /// Maximum mean time per token after the first token.
    pub further: Duration,
}

/// Settings of the QDL for one run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Addresses of the SUT nodes, `host:port`.
    pub nodes: Vec<String>,
    /// Name of the cluster, with which the SUT's name begins.
    pub cluster_name: String,
    /// Number of connections to each node.
    pub connections_per_node: usize,
    /// Number of sample streams on each connection.
    pub streams_per_connection: usize,
    /// Number of threads that serve the connections and complete samples.
    pub io_threads: usize,
    /// Lets the I/O threads poll instead of sleeping: latency is lower, but each thread uses a
    /// whole core.
    pub busy_poll: bool,
    /// Function that each I/O thread calls before anything else, for example to pin the thread to a
    /// core.
    pub on_thread_start: Option<OnThreadStart>,
    /// Policy that assigns samples to streams.
    pub policy: Policy,
    /// Maximum number of samples in flight to each node, over all its connections; `None`: the
    /// node's own limit.
    pub window_samples: Option<usize>,
    /// Maximum number of payload bytes in flight to each node, over all its connections; `None`:
    /// the node's own limit.
    pub window_bytes: Option<usize>,
    /// Maximum number of samples that wait for a stream. While it is reached, LoadGen's thread
    /// blocks.
    pub inbox_samples: usize,
    /// Maximum number of samples in flight to all nodes together. While it is reached, LoadGen's
    /// thread blocks inside `IssueQuery`, and a sample counts as issued when it may be sent: its
    /// times are measured from there. For experiments: no rule allows it.
    pub max_in_flight: Option<NonZero<usize>>,
    /// Set if each query must complete before the next one is issued (SingleStream, MultiStream).
    /// Waiting inside `IssueQuery` instead of in LoadGen lets a failure end the test.
    pub one_query_at_a_time: bool,
    /// Requires digests: each node keeps digests of the payloads that it receives and sends, and
    /// [`crate::Qdl::digests`] returns them.
    pub digests: bool,
    /// Requires a checksum in every message on the streams of samples, in both directions.
    pub checksums: bool,
    /// Facts that LoadGen receives about the tokens of a response: none, their number, or also the
    /// first token as soon as it exists.
    pub tokens: AnswerTokens,
    /// Maximum number of tokens of an output, at which nodes end it; `None`: that of each node.
    pub max_output_tokens: Option<NonZero<u32>>,
    /// Time bounds that LoadGen sets for the tokens of a response, if it sets any.
    pub token_bounds: Option<TokenBounds>,
    /// Action of the run when a node is lost.
    pub on_node_loss: OnNodeLoss,
    /// Options and time limits of the connections.
    pub network: NetworkSettings,
}

impl Settings {
    /// Returns default settings for these nodes.
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
            // 40 bytes each: 2.6 MB, a third of a second at the highest rate that LoadGen reaches
            // in Server.
            inbox_samples: 1 << 16,
            max_in_flight: None,
            one_query_at_a_time: false,
            digests: false,
            checksums: false,
            tokens: AnswerTokens::default(),
            max_output_tokens: None,
            token_bounds: None,
            on_node_loss: OnNodeLoss::default(),
            network: NetworkSettings::default(),
        }
    }

    /// Returns the number of sample streams to each node.
    pub(crate) fn lanes_per_node(&self) -> usize {
        self.connections_per_node.max(1) * self.streams_per_connection.max(1)
    }
}
