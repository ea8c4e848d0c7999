//! Faults of a wire, and counts of what it did.

use std::time::Duration;

/// Faults in one direction of a wire. A *piece* is a datagram, or the bytes of one read from TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Faults {
    /// Delay of each piece.
    pub delay: Duration,
    /// Maximum random delay in addition to `delay`; the order stays.
    pub jitter: Duration,
    /// Rate of the link, in bytes per second. The link queues a tenth of a second of data. When the
    /// queue is full, TCP's sender blocks, and UDP's datagrams are dropped.
    pub bytes_per_second: Option<u64>,
    /// Probability that a piece is lost. TCP would send it again, so the piece and all later pieces
    /// arrive 200 ms late.
    pub loss: f64,
    /// Cuts the wire: nothing passes, and nothing is closed. TCP's data passes after the cut.
    pub cut: bool,
    /// Flips one random bit of every n-th piece.
    pub flip_every: Option<u64>,
    /// Flips one random bit of the byte at this offset, once.
    pub flip_at: Option<u64>,
    /// Number of bytes after which the connection is closed in both directions, in the middle of a
    /// message. With UDP the datagram is cut, and silence follows.
    pub truncate_at: Option<u64>,
    /// Probability that a datagram is duplicated. UDP only.
    pub duplicate: f64,
    /// Probability that a datagram arrives 5 ms late, so that later datagrams overtake it. UDP
    /// only.
    pub reorder: f64,
}

impl Faults {
    /// Returns the faults of a good wire: none.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the faults of a wire that is cut.
    pub fn cut() -> Self {
        Self { cut: true, ..Self::none() }
    }
}

/// Counts of one direction of a wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes received.
    pub bytes: u64,
    /// Pieces received.
    pub pieces: u64,
    /// Pieces lost at random; with TCP, delayed.
    pub lost: u64,
    /// Datagrams dropped because the wire was cut or the link's queue was full.
    pub dropped: u64,
    /// Pieces with a flipped bit.
    pub flipped: u64,
    /// Datagrams sent twice.
    pub duplicated: u64,
    /// Datagrams that arrived late, so that later datagrams overtook them.
    pub reordered: u64,
    /// Connections closed in the middle of a message.
    pub truncated: u64,
}
