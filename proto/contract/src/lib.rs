//! The wire contract between a LoadGen node and a SUT node. Contains no sockets, and no gRPC unless
//! the feature `grpc` is on.
//!
//! - [`v1`]: messages, client and server, generated from `netdiv/v1/*.proto`
//! - `description`: validity of a node's description
//! - [`layout`]: the layout of a sample's bytes
//! - [`encoding`]: lossless compression of one payload, with a limit on the decoded length
//! - `framing`: messages as chunks of a byte stream, without copying payloads
//! - `payload_message`: messages that end with a payload
//! - `burst`: all messages that a stream has ready, in one wake-up
//! - [`probe`]: samples that test the network
//! - [`tally`]: number of occurrences of each payload
//! - `checksum`: CRC32C of a message, which detects a flipped bit
//! - [`tokens`]: tokens that a stream receives, and token ids as bytes
//! - [`limits`]: every limit of the wire, with its reason

#[cfg(feature = "wire")]
pub mod burst;
#[cfg(feature = "wire")]
pub mod checksum;
#[cfg(feature = "wire")]
mod chunks;
mod description;
pub mod encoding;
#[cfg(feature = "wire")]
pub mod framing;
pub mod layout;
pub mod limits;
#[cfg(feature = "wire")]
pub mod payload_message;
pub mod probe;
pub mod tally;
pub mod tokens;
#[cfg(feature = "wire")]
mod wire_error;

pub use description::{MAX_IDS, description_fault, names_fault};
#[cfg(feature = "wire")]
pub use wire_error::{FramingError, WireError};

/// Messages, client and server of package `netdiv.v1`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/netdiv.v1.rs"));
}

impl std::fmt::Debug for v1::CallHeader {
    /// Formats all fields except the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { protocol_version, method, session, digests, checksums, .. } = self;
        let Self { tokens, max_output_tokens, .. } = self;
        write!(
            f,
            "CallHeader({protocol_version}, {method:?}, {session:?}, digests: {digests}, checksums: {checksums}, tokens: \
             {tokens}, max_output_tokens: {max_output_tokens})"
        )
    }
}

/// Version of the wire contract. A node and a LoadGen node can only communicate if their versions
/// are equal.
pub const PROTOCOL_VERSION: u32 = 2;

/// Request header of an `Infer` stream that names the session it belongs to.
pub const SESSION_HEADER: &str = "netdiv-session";

/// Request header of an `Infer` stream. Its value `1` asks the node to keep digests of the samples
/// and responses of the session.
pub const DIGESTS_HEADER: &str = "netdiv-digests";

/// Request header of an `Infer` stream that asks, with the value `1`, for a checksum in every
/// message, in both directions.
pub const CHECKSUMS_HEADER: &str = "netdiv-checksums";

/// Request header of an `Infer` stream. Its value, from [`tokens::header_value`], selects the
/// tokens that the stream receives. Without the header, the stream receives whole outputs only.
pub const TOKENS_HEADER: &str = "netdiv-tokens";

/// Request header of an `Infer` stream: maximum number of tokens of an output, in decimal. The node
/// ends an output there. Without the header, the node's own maximum applies.
pub const MAX_OUTPUT_TOKENS_HEADER: &str = "netdiv-max-output-tokens";

/// Request headers of a stream of samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionHeader {
    /// Name of the session that the stream belongs to.
    pub name: String,
    /// True if the node keeps digests of what it receives and sends.
    pub digests: bool,
    /// True if every message has a checksum.
    pub checksums: bool,
    /// Tokens of an output that the stream receives.
    pub tokens: v1::Tokens,
    /// Maximum number of tokens of an output; 0: the node's own maximum.
    pub max_output_tokens: u32,
}

/// Text of the rule that [`is_name`] checks.
pub const NAME_RULE: &str =
    "a name has no comma, bracket, quote or backslash, no control character, and 1 to 255 bytes";

/// Returns true if a text can be the name of a node or a cluster. LoadGen logs the names as a list
/// and does not escape them.
pub fn is_name(text: &str) -> bool {
    let is_short = text.len() <= limits::MAX_NAME_BYTES;
    let excluded = |c: char| ",[]\"\\".contains(c);
    is_short
        && !text.trim().is_empty()
        && netdiv_node_common::sanitise::is_plain(text)
        && !text.contains(excluded)
}

/// Compiled `.proto` files, for the reflection service.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/netdiv_v1.bin"));
