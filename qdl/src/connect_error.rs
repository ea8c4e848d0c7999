//! Errors that prevent a run from starting, and their remedies.

use std::time::Duration;

use netdiv_contract::PROTOCOL_VERSION;
use netdiv_transport::{Http2Close, OpenError};

/// Error that prevents a run from starting.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ConnectError {
    /// The list of nodes is empty.
    #[error("no nodes; give --nodes HOST:PORT,…")]
    NoNodes,
    /// The address is invalid, authentication failed, or a socket could not be opened.
    #[error(transparent)]
    Open(OpenError),
    /// The node uses an older contract without digests.
    #[error("node {0} does not support digests; install this release there, or omit --digests")]
    NoDigests(String),
    /// The node uses an older contract without checksums.
    #[error("node {0} does not support checksums; install this release there, or omit --checksums")]
    NoChecksums(String),
    /// The responses of the node's engine are not made of tokens.
    #[error(
        "node {node} runs the engine {engine}, whose responses are not made of tokens. Token latencies need an engine for \
         language models; --setting use_token_latencies=false runs without them, as an experiment"
    )]
    NoTokens { node: String, engine: String },
    /// No node answers at the address.
    #[error(
        "no node answers at {address}: {why}; start sut-node there, open its port, or raise --connect-timeout if it is still loading"
    )]
    Unreachable { address: String, why: String },
    /// An HTTP/2 peer ended the call or its connection, with a code.
    #[error("no SUT node answers at {address}: {close}")]
    Closed { address: String, close: Http2Close },
    /// The peer accepts the connection but sends no answer.
    #[error(
        "{address} accepts connections but has not answered for {} s; if the node is slow or still loading its model, raise \
         {option}",
        waited.as_secs_f64()
    )]
    Silent { address: String, waited: Duration, option: &'static str },
    /// The node uses another version of the wire contract.
    #[error(
        "the node at {address} speaks version {theirs} of the wire contract, this program version {}; \
         install the same release on both",
        PROTOCOL_VERSION
    )]
    WrongVersion { address: String, theirs: u32 },
    /// The peer that answered is not a SUT node.
    #[error("the server at {address} is not a SUT node: {why}")]
    NotANode { address: String, why: String },
    /// The node sends an invalid description.
    #[error(
        "node {node} at {address} sends an invalid description: {why}; check its settings, or install this release there"
    )]
    InvalidDescription { node: String, address: String, why: String },
    /// Two nodes have the same name (rules, section 6.2.1).
    #[error("{first} and {second} are both called `{name}`; give each node its own --name")]
    DuplicateName { name: String, first: String, second: String },
    /// Several connections to one address reach different nodes.
    #[error(
        "connections to {address} reach different nodes: the first one `{first}`, another one `{other}`, with a different \
         {what}. A load balancer, or a name with several addresses, is in between: give each node its own address"
    )]
    SeveralNodes {
        address: String,
        first: String,
        other: String,
        /// Name of the fact in which the two nodes differ, such as `model`.
        what: &'static str,
    },
    /// Two nodes serve different models.
    #[error(
        "the nodes do not serve the same model: {first} has {theirs}, {second} has {ours}; \
         start them with the same model file"
    )]
    DifferentModel { first: String, theirs: String, second: String, ours: String },
    /// The node's model expects samples of another layout than the data set holds.
    #[error(
        "node {node} takes {want}, the data set holds {have}; choose the data set of its model"
    )]
    OtherLayout { node: String, want: String, have: String },
    /// The node does not decode the selected encoding.
    #[error("node {node} does not decode {encoding}; it accepts {accepted}")]
    EncodingRefused { node: String, encoding: &'static str, accepted: String },
    /// A sample is longer than the maximum that the node accepts.
    #[error(
        "the longest sample has {bytes} bytes, but node {node} accepts at most {limit}; \
         raise --max-payload-bytes there"
    )]
    SampleTooLong {
        node: String,
        /// Length of the longest sample, in bytes.
        bytes: u64,
        /// Maximum length that the node accepts, in bytes.
        limit: u64,
    },
    /// The node already has its maximum number of connections or streams.
    #[error("{address} has no room: {why}; stop another of its clients, or raise the limit there")]
    Full { address: String, why: String },
    /// The run needs more connections than the node accepts.
    #[error(
        "--connections asks for {asked} connections to each node, but node {node} accepts {limit}; ask for fewer, or raise \
         --max-connections there"
    )]
    TooManyConnections { node: String, asked: usize, limit: u32 },
    /// The run needs more streams on a connection than the node accepts.
    #[error(
        "--streams asks for {asked} streams on each connection, but node {node} accepts {limit}; ask for fewer, or for more \
         --connections"
    )]
    TooManyStreams { node: String, asked: usize, limit: u32 },
    /// The run needs more streams over all connections than the node accepts.
    #[error(
        "--connections and --streams ask for {asked} streams to each node, but node {node} accepts {limit}; ask for fewer"
    )]
    TooManyStreamsInAll { node: String, asked: usize, limit: u32 },
    /// A thread or socket could not be created on this machine.
    #[error("cannot start the network threads: {0}")]
    Local(String),
}

impl ConnectError {
    /// Returns true if no node answered, and false if a node or another server gave an unsuitable
    /// answer.
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
