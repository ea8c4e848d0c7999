//! What a wire can do to bytes, and what it has done.

use std::time::Duration;

/// What happens to the bytes that go one way. A *piece* is a datagram, or what TCP gave in one read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Faults {
    /// Each piece arrives this much later.
    pub delay: Duration,
    /// And up to this much more, by chance; the order stays.
    pub jitter: Duration,
    /// Bytes per second that pass. Before the slow link waits what comes in a tenth of a second; TCP's sender is then
    /// held up, UDP's datagrams are dropped.
    pub bytes_per_second: Option<u64>,
    /// Probability that a piece is lost. TCP would send it again: it and all behind it come 200 ms later.
    pub loss: f64,
    /// Nothing passes, and nothing is closed. What TCP has sent passes later, when this is over.
    pub cut: bool,
    /// One bit, by chance, of every n-th piece is flipped.
    pub flip_every: Option<u64>,
    /// One bit, by chance, of the byte at this place is flipped, once.
    pub flip_at: Option<u64>,
    /// After so many bytes the connection is closed both ways, in the middle of a message. With UDP the datagram is
    /// cut, and silence follows.
    pub truncate_at: Option<u64>,
    /// Probability that a datagram comes twice. UDP only.
    pub duplicate: f64,
    /// Probability that a datagram comes 5 ms later than those behind it. UDP only.
    pub reorder: f64,
}

impl Faults {
    /// A good wire.
    pub fn none() -> Self {
        Self::default()
    }

    /// A wire that is cut.
    pub fn cut() -> Self {
        Self { cut: true, ..Self::none() }
    }
}

/// What has become of the bytes that went one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes that came.
    pub bytes: u64,
    /// Pieces that came.
    pub pieces: u64,
    /// Pieces that were lost by chance; with TCP, held up.
    pub lost: u64,
    /// Datagrams that did not pass because the wire was cut or the slow link was full.
    pub dropped: u64,
    /// Pieces with a flipped bit.
    pub flipped: u64,
    /// Datagrams that came twice.
    pub duplicated: u64,
    /// Datagrams that came later than those behind them.
    pub reordered: u64,
    /// Connections that were closed in the middle.
    pub truncated: u64,
}
