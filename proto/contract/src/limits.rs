//! Every limit of the wire. Both ends use these, so that neither offers what the other refuses.

use std::{ops::RangeInclusive, time::Duration};

/// Longest payload that a message may carry, in bytes, encoded or decoded. The largest of the v5.0 suite
/// is a text-to-video answer of 225 MB.
pub const MAX_PAYLOAD_BYTES: usize = 256 << 20;

/// Longest payload that a node takes where its operator says nothing else, in bytes.
pub const DEFAULT_PAYLOAD_BYTES: usize = 64 << 20;

/// Bytes of samples that a node takes in at the same time where its operator says nothing else.
pub const DEFAULT_IN_FLIGHT_BYTES: u32 = 256 << 20;

/// Room for everything in a message but its payload: field tags, id, times and an error text.
pub const MAX_HEADER_BYTES: usize = 16 << 10;

/// Longest answer of a unary call, in bytes: a description with its evidence, or a part of a tally.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Most digests in one answer: a tally of 16,384 entries needs half a megabyte.
pub const DIGESTS_IN_ANSWER: usize = 16 << 10;

/// Longest message of a stream of samples or replies, in bytes.
pub const MAX_MESSAGE_BYTES: usize = MAX_PAYLOAD_BYTES + MAX_HEADER_BYTES;

/// Longest batch of a node, in samples; the samples in flight, a few times as many, still fit 32 bits.
pub const MAX_BATCH: usize = 1 << 16;

/// Longest error text that a node sends, in bytes. Errors of engines can hold whole tensors.
pub const MAX_ERROR_BYTES: usize = netdiv_node_common::said::MAX_BYTES;

/// Most connections that a node measures the network to another one with (`Measure`).
pub const MEASURE_CONNECTIONS: u32 = 64;

/// Longest warm-up of such a measurement, and its longest window.
pub const LONGEST_MEASURE: Duration = Duration::from_secs(3600);

/// Longest name of a node or a cluster, in bytes: a host name with a port is shorter.
pub const MAX_NAME_BYTES: usize = 255;

/// HTTP/2 receive window of one stream, in bytes. The default of 64 KiB holds a ResNet50 sample for three
/// round trips.
pub const STREAM_WINDOW_BYTES: u32 = 64 << 20;

/// HTTP/2 receive window of one connection, in bytes.
pub const CONNECTION_WINDOW_BYTES: u32 = 256 << 20;

/// Longest HTTP/2 frame, in bytes. The default of 16 KiB cuts a payload into many small writes.
pub const MAX_FRAME_BYTES: u32 = 1 << 20;

/// Allowed receive windows of HTTP/2, in bytes: from its default to its limit (RFC 9113, section 6.9.2). QUIC has the
/// same range.
pub const WINDOW_BYTES: RangeInclusive<u32> = 65_535..=(1 << 31) - 1;

/// Receive window of a connection whose streams have a window of that many bytes.
pub const fn connection_window_bytes(stream_window_bytes: u32) -> u32 {
    if stream_window_bytes > CONNECTION_WINDOW_BYTES {
        stream_window_bytes
    } else {
        CONNECTION_WINDOW_BYTES
    }
}

/// Streams of samples that one connection may have open.
pub const MAX_STREAMS_PER_CONNECTION: u32 = 64;

/// Other calls that it may have open beside them, so that streams of samples never hold up a `Describe` or a `Flush`. More
/// than an eighth of all: quinn lets the peer know of calls that have ended an eighth at a time.
pub const CONTROL_CALLS: u32 = 32;

/// Calls that one connection may have open.
pub const MAX_CALLS: u32 = MAX_STREAMS_PER_CONNECTION + CONTROL_CALLS;

/// Allowed UDP payloads of QUIC, in bytes (RFC 9000, sections 14 and 18.2).
pub const UDP_PAYLOAD_BYTES: RangeInclusive<u16> = 1200..=65_527;
