//! Why a run cannot begin, and what to do about it.

use std::time::Duration;

use netdiv_contract::PROTOCOL_VERSION;
use netdiv_transport::{Http2Close, OpenError};

/// Why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The list of nodes is empty.
    #[error("no node was named; give --nodes HOST:PORT,…")]
    NoNodes,
    /// Not an address, no trust, or no socket.
    #[error(transparent)]
    Open(OpenError),
    /// A node of an older contract.
    #[error("node {0} keeps no digests; install this release there, or leave --digests out")]
    NoDigests(String),
    /// A node of an older contract.
    #[error("node {0} makes no checksums; install this release there, or leave --checksums out")]
    NoChecksums(String),
    /// Its answers are not made of tokens.
    #[error(
        "node {node} runs the engine {engine}, whose answers are not made of tokens that it could count or send ahead. \
         Token latencies need an engine of a language model; --setting use_token_latencies=false runs without them, as an \
         experiment"
    )]
    NoTokens {
        /// Its name.
        node: String,
        /// Its engine.
        engine: String,
    },
    /// Nobody answers there.
    #[error(
        "no node answers at {address}: {why}; is sut-node running there, and is the port open?"
    )]
    Unreachable {
        /// The address.
        address: String,
        /// What the transport says.
        why: String,
    },
    /// A peer of HTTP/2 ended the call or its connection, with a code.
    #[error("no SUT node answers at {address}: {close}")]
    Closed {
        /// The address.
        address: String,
        /// The code, and its meaning.
        close: Http2Close,
    },
    /// The connection is there, an answer is not.
    #[error(
        "{address} accepts connections but has not answered for {} s; if the node is still loading its model, raise \
         --control-timeout",
        waited.as_secs_f64()
    )]
    Silent {
        /// The address.
        address: String,
        /// How long nothing came.
        waited: Duration,
    },
    /// The node speaks another version of the wire contract.
    #[error(
        "the node at {address} speaks version {theirs} of the wire contract, this program version {}; \
         install the same release on both",
        PROTOCOL_VERSION
    )]
    WrongVersion {
        /// The address.
        address: String,
        /// The node's version.
        theirs: u32,
    },
    /// Something answered that is not a SUT node.
    #[error("what answers at {address} is not a SUT node: {why}")]
    NotANode {
        /// The address.
        address: String,
        /// What it answered.
        why: String,
    },
    /// The description that a node sends is invalid.
    #[error(
        "node {node} at {address} sends an invalid description: {why}; check its settings, or install this release there"
    )]
    InvalidDescription {
        /// Its name.
        node: String,
        /// The address.
        address: String,
        /// The fault in the description.
        why: String,
    },
    /// Two nodes with one name (rules, section 6.2.1).
    #[error("{first} and {second} are both called `{name}`; give each node its own --name")]
    DuplicateName {
        /// The name.
        name: String,
        /// Address of the first.
        first: String,
        /// Address of the second.
        second: String,
    },
    /// Connections to one address that end at different nodes.
    #[error(
        "connections to {address} reach different nodes: the first one `{first}`, another one `{other}`, with another {what}; \
         there is a load balancer, or a name with several addresses, in between: give each node an address of its own"
    )]
    SeveralNodes {
        /// The address.
        address: String,
        /// Name of the node that the first connection reaches.
        first: String,
        /// Name of the other one.
        other: String,
        /// The fact in which they differ.
        what: &'static str,
    },
    /// Two nodes that would answer differently.
    #[error(
        "the nodes do not serve the same model: {first} has {theirs}, {second} has {ours}; \
         start them with the same model file"
    )]
    DifferentModel {
        /// Name of the first node.
        first: String,
        /// Its model.
        theirs: String,
        /// Name of the second node.
        second: String,
        /// Its model.
        ours: String,
    },
    /// The node's model takes other samples.
    #[error(
        "node {node} takes {want}, the data set holds {have}; choose the data set of its model"
    )]
    OtherLayout {
        /// Name of the node.
        node: String,
        /// What the node takes.
        want: String,
        /// What the data set holds.
        have: String,
    },
    /// The node does not decode the chosen encoding.
    #[error("node {node} does not decode {encoding}; it takes {accepted}")]
    EncodingRefused {
        /// Name of the node.
        node: String,
        /// The encoding that was chosen.
        encoding: &'static str,
        /// What it takes.
        accepted: String,
    },
    /// A sample is longer than the node takes.
    #[error(
        "the longest sample has {bytes} bytes, node {node} takes at most {limit}; \
         raise --max-payload-bytes there"
    )]
    SampleTooLong {
        /// Name of the node.
        node: String,
        /// Bytes of the longest sample.
        bytes: u64,
        /// The node's limit.
        limit: u64,
    },
    /// The node has as many connections or streams as it takes.
    #[error("{address} has no room: {why}; end another client of it, or raise the limit there")]
    Full {
        /// The address.
        address: String,
        /// What the node says.
        why: String,
    },
    /// More connections than a node takes.
    #[error(
        "--connections asks for {asked} connections to each node, and node {node} takes {limit}; ask for fewer, or raise \
         --max-connections there"
    )]
    TooManyConnections {
        /// Name of the node.
        node: String,
        /// Connections that are asked for.
        asked: usize,
        /// The node's limit.
        limit: u32,
    },
    /// More streams on a connection than a node takes.
    #[error(
        "--streams asks for {asked} streams on each connection, and node {node} takes {limit}; ask for fewer, or for more \
         --connections"
    )]
    TooManyStreams {
        /// Name of the node.
        node: String,
        /// Streams that are asked for.
        asked: usize,
        /// The node's limit.
        limit: u32,
    },
    /// More streams over all connections than a node takes.
    #[error(
        "--connections and --streams ask for {asked} streams to each node, and node {node} takes {limit}; ask for fewer"
    )]
    TooManyStreamsInAll {
        /// Name of the node.
        node: String,
        /// Streams that are asked for.
        asked: usize,
        /// The node's limit.
        limit: u32,
    },
    /// Local trouble: no thread or socket could be made.
    #[error("cannot start the network threads: {0}")]
    Local(String),
}

impl ConnectError {
    /// Returns whether no node answered, rather than a wrong one.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Closed { .. } | Self::Silent { .. })
    }
}

impl From<OpenError> for ConnectError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unreachable { address, why } => Self::Unreachable { address, why },
            error => Self::Open(error),
        }
    }
}
