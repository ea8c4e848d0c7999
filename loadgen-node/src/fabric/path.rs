//! What the transport itself counts of the connections of a measurement.

use netdiv_qdl::QuicPath;
use serde::{Deserialize, Serialize};

/// A connection at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Connection {
    /// Tells it from the others of this process.
    pub(super) id: u64,
    /// TCP segments that were sent again, or QUIC packets that were declared lost, since it was opened.
    pub(super) sent_again: u64,
    /// Smoothed.
    pub(super) round_trip_us: u64,
    pub(super) congestion_window_bytes: u64,
    pub(super) delivery_bytes_per_second: Option<u64>,
}

impl From<(usize, QuicPath)> for Connection {
    /// The place of a connection tells it from the others.
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

/// All connections of a measurement; losses are those of the window, the rest is as it was at its end. They are this end's:
/// what the nodes had to send again, they alone know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) struct Path {
    /// Connections to all nodes.
    pub(crate) connections: usize,
    /// TCP segments that were sent again, or QUIC packets that were declared lost.
    pub(crate) sent_again: u64,
    /// Smoothed round trip of the connection with the shortest, under this load.
    pub(crate) least_round_trip_us: u64,
    /// And of the one with the longest.
    pub(crate) most_round_trip_us: u64,
    /// Of all connections together.
    pub(crate) congestion_window_bytes: u64,
    /// What TCP saw delivered lately, of all connections together; QUIC does not say.
    pub(crate) delivery_bytes_per_second: Option<u64>,
}

impl Path {
    /// `None` where nothing is known of any connection.
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
