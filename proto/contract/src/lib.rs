//! The wire contract between a LoadGen node and a SUT node. No sockets here, and without the feature `grpc` no gRPC.
//!
//! - [`v1`]: messages, client and server, generated from `netdiv/v1/*.proto`
//! - [`layout`]: the layout of a sample's bytes
//! - [`encoding`]: lossless compression of one payload, with a cap on what comes out
//! - `framing`: messages as chunks of a byte stream, without copying payloads
//! - `burst`: all messages that a stream has ready, in one wake-up
//! - [`probe`]: samples that test the network
//! - [`tally`]: how often each payload was seen
//! - `checksum`: CRC32C of a message, so that a flipped bit is found
//! - [`tokens`]: which tokens a stream gets, and tokens as bytes
//! - [`limits`]: every limit of the wire, each with its reason

#[cfg(feature = "wire")]
pub mod burst;
#[cfg(feature = "wire")]
pub mod checksum;
#[cfg(feature = "wire")]
mod chunks;
pub mod encoding;
#[cfg(feature = "wire")]
pub mod framing;
pub mod layout;
pub mod limits;
pub mod probe;
pub mod tally;
pub mod tokens;
#[cfg(feature = "wire")]
mod wire_error;

#[cfg(feature = "wire")]
pub use wire_error::{FramingError, WireError};

/// Messages, client and server of package `netdiv.v1`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/netdiv.v1.rs"));
}

impl std::fmt::Debug for v1::CallHeader {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { protocol_version, method, session, digests, checksums, tokens, token: _ } = self;
        write!(
            f,
            "CallHeader({protocol_version}, {method:?}, {session:?}, digests: {digests}, checksums: {checksums}, tokens: \
             {tokens})"
        )
    }
}

/// Version of the wire contract. A node and a LoadGen node talk only when theirs are equal.
pub const PROTOCOL_VERSION: u32 = 1;

/// Request header of an `Infer` stream that names the session it belongs to.
pub const SESSION_HEADER: &str = "netdiv-session";

/// Request header of an `Infer` stream that asks the node, with the value `1`, to keep digests of the session.
pub const DIGESTS_HEADER: &str = "netdiv-digests";

/// Request header of an `Infer` stream that asks, with the value `1`, for a checksum in every message, either way.
pub const CHECKSUMS_HEADER: &str = "netdiv-checksums";

/// Request header of an `Infer` stream that says which tokens it gets, where not the whole output alone: a word of
/// [`tokens`].
pub const TOKENS_HEADER: &str = "netdiv-tokens";

/// The headers of a stream of samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionHeader {
    /// The session that the stream belongs to.
    pub name: String,
    /// Whether the node keeps digests of what it receives and sends.
    pub digests: bool,
    /// Whether every message has a checksum.
    pub checksums: bool,
    /// Which tokens of an output it gets.
    pub tokens: v1::Tokens,
}

/// What [`is_name`] asks for.
pub const NAME_RULE: &str =
    "a name has no comma, bracket, quote or backslash, no control character, and 1 to 255 bytes";

/// Whether a text can be the name of a node or a cluster. LoadGen logs the names as a list and does not escape them.
pub fn is_name(text: &str) -> bool {
    let is_short = text.len() <= limits::MAX_NAME_BYTES;
    let excluded = |c: char| ",[]\"\\".contains(c);
    is_short
        && !text.trim().is_empty()
        && netdiv_node_common::said::is_plain(text)
        && !text.contains(excluded)
}

/// The compiled `.proto` files, for the reflection service.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/netdiv_v1.bin"));
