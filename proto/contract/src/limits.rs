//! Limits of the wire. Both ends use them, so that neither offers a value that the other refuses.

use std::{ops::RangeInclusive, time::Duration};

/// Maximum length of a payload in a message, in bytes, encoded or decoded. The largest of the v5.0
/// suite is a text-to-video response of 225 MB.
pub const MAX_PAYLOAD_BYTES: usize = 256 << 20;

/// Default for the maximum length of a payload that a node accepts, in bytes.
pub const DEFAULT_PAYLOAD_BYTES: usize = 64 << 20;

/// Default for the maximum of payload bytes in flight at a node.
pub const DEFAULT_IN_FLIGHT_BYTES: u32 = 256 << 20;

/// Maximum length of everything in a message but its payload, in bytes: field tags, id, times and
/// an error text.
pub const MAX_HEADER_BYTES: usize = 16 << 10;

/// Maximum length of the reply to a unary call, in bytes: a description with its evidence, or a
/// part of a tally.
pub const MAX_REPLY_BYTES: usize = 1 << 20;

/// Maximum number of digests in one reply: a tally of 16,384 entries needs half a megabyte.
pub const MAX_DIGESTS_PER_REPLY: usize = 16 << 10;

/// Maximum length of a message in a stream of samples or responses, in bytes.
pub const MAX_MESSAGE_BYTES: usize = MAX_PAYLOAD_BYTES + MAX_HEADER_BYTES;

/// Maximum batch of a node, in samples. A node has a few times as many samples in flight, and
/// counts them in 32 bits.
pub const MAX_BATCH: usize = 1 << 16;

/// Maximum length of an error text that a node sends, in bytes. Errors of engines can contain whole
/// tensors.
pub const MAX_ERROR_BYTES: usize = netdiv_node_common::sanitise::MAX_BYTES;

/// Maximum number of connections with which a node measures the network to another node
/// (`Measure`).
pub const MEASURE_CONNECTIONS: u32 = 64;

/// Maximum duration of a measurement's warm-up, and of its window.
pub const MAX_MEASURE: Duration = Duration::from_secs(3600);

/// Maximum length of the name of a node or a cluster, in bytes. A host name with a port is shorter.
pub const MAX_NAME_BYTES: usize = 255;

/// HTTP/2 receive window of one stream, in bytes. With the default of 64 KiB a ResNet50 sample
/// takes three round trips.
pub const STREAM_WINDOW_BYTES: u32 = 64 << 20;

/// HTTP/2 receive window of one connection, in bytes.
pub const CONNECTION_WINDOW_BYTES: u32 = 256 << 20;

/// Maximum length of an HTTP/2 frame, in bytes. The default of 16 KiB cuts a payload into many
/// small writes.
pub const MAX_FRAME_BYTES: u32 = 1 << 20;

/// Allowed receive windows of HTTP/2, in bytes: from its default to its limit (RFC 9113, section
/// 6.9.2). QUIC uses the same range.
pub const WINDOW_BYTES: RangeInclusive<u32> = 65_535..=(1 << 31) - 1;

/// Returns the receive window of a connection, in bytes: [`CONNECTION_WINDOW_BYTES`], or the window
/// of one stream if that is larger.
pub const fn connection_window_bytes(stream_window_bytes: u32) -> u32 {
    if stream_window_bytes > CONNECTION_WINDOW_BYTES {
        stream_window_bytes
    } else {
        CONNECTION_WINDOW_BYTES
    }
}

/// Maximum number of open streams of samples on one connection.
pub const MAX_STREAMS_PER_CONNECTION: u32 = 64;

/// Maximum number of other open calls on one connection, so that streams of samples never delay a
/// `Describe` or a `Flush`. It is more than an eighth of all calls, because quinn reports ended
/// calls to the peer an eighth at a time.
pub const CONTROL_CALLS: u32 = 32;

/// Maximum number of open calls on one connection.
pub const MAX_CALLS: u32 = MAX_STREAMS_PER_CONNECTION + CONTROL_CALLS;

/// Allowed UDP payloads of QUIC, in bytes (RFC 9000, sections 14 and 18.2).
pub const UDP_PAYLOAD_BYTES: RangeInclusive<u16> = 1200..=65_527;
