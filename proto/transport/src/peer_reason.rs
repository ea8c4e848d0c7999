//! Text with which a peer explains why it closes a connection, over gRPC or QUIC.

use netdiv_node_common::sanitise::sanitise_within;

/// Maximum length of the displayed text, in bytes.
const MAX_BYTES: usize = 200;

/// Returns a peer's text for display, escaped and truncated.
pub(crate) fn shown(reason: &[u8]) -> String {
    sanitise_within(MAX_BYTES, &String::from_utf8_lossy(reason))
}
