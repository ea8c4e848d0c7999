//! Transport statistics of a measurement's connections.

use netdiv_qdl::QuicPath;
use serde::{Deserialize, Serialize};

/// State of a connection at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Connection {
    /// Identifies the connection within this process.
    pub(super) id: u64,
    /// TCP segments retransmitted, or QUIC packets declared lost, since the connection was opened.
    pub(super) sent_again: u64,
    /// Smoothed round-trip time.
    pub(super) round_trip_us: u64,
    pub(super) congestion_window_bytes: u64,
    pub(super) delivery_bytes_per_second: Option<u64>,
}

impl From<(usize, QuicPath)> for Connection {
    /// Uses the index of the connection as its id.
    fn from((id, path): (usize, QuicPath)) -> Self {
        Self {
            id: id as u64,
            sent_again: path.lost_packets,
            round_trip_us: u64::try_from(path.round_trip.as_micros()).unwrap_or(u64::MAX),
            congestion_window_bytes: path.congestion_window_bytes,
            delivery_bytes_per_second: None,
        }
    }
}

/// Statistics of all connections of a measurement. Losses are from the window; the rest is the
/// state at its end. All are from this end: only the nodes know what they retransmitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) struct Path {
    /// Number of connections to all nodes.
    pub(crate) connections: usize,
    /// TCP segments retransmitted, or QUIC packets declared lost.
    pub(crate) sent_again: u64,
    /// Smoothed round-trip time of the fastest connection under this load, in µs.
    pub(crate) least_round_trip_us: u64,
    /// Smoothed round-trip time of the slowest connection under this load, in µs.
    pub(crate) most_round_trip_us: u64,
    /// Sum of the congestion windows of all connections.
    pub(crate) congestion_window_bytes: u64,
    /// Recent delivery rate of TCP, all connections together; QUIC does not report it.
    pub(crate) delivery_bytes_per_second: Option<u64>,
}

impl Path {
    /// Returns the statistics between two moments; `None` without connections.
    pub(super) fn between(begin: &[Connection], end: &[Connection]) -> Option<Self> {
        let before = |one: &Connection| {
            begin.iter().find(|two| two.id == one.id).map_or(0, |two| two.sent_again)
        };
        let times = || end.iter().map(|one| one.round_trip_us);
        Some(Self {
            connections: end.len(),
            sent_again: end.iter().map(|one| one.sent_again.saturating_sub(before(one))).sum(),
            least_round_trip_us: times().min()?,
            most_round_trip_us: times().max()?,
            congestion_window_bytes: end.iter().map(|one| one.congestion_window_bytes).sum(),
            delivery_bytes_per_second: end.iter().map(|one| one.delivery_bytes_per_second).sum(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_of_the_window() {
        let one = |id, sent_again, round_trip_us| Connection {
            id,
            sent_again,
            round_trip_us,
            congestion_window_bytes: 1000,
            delivery_bytes_per_second: Some(5),
        };
        let path = Path::between(&[one(1, 4, 9), one(2, 0, 9)], &[one(2, 3, 70), one(1, 6, 50)]);
        let expected = Path {
            connections: 2,
            sent_again: 5,
            least_round_trip_us: 50,
            most_round_trip_us: 70,
            congestion_window_bytes: 2000,
            delivery_bytes_per_second: Some(10),
        };
        assert_eq!(path, Some(expected));
        assert_eq!(Path::between(&[], &[]), None);
    }
}
