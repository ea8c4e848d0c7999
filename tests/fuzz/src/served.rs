//! Responses of serving engines, as a node reads them.

use bytes::Bytes;
use sut_node::fuzzing::{read_events, read_messages};

/// Number of serving engines whose response formats [`read_events`] reads.
const DIALECTS: usize = 4;

/// Reads a response; the first byte chooses the dialect and the length of the pieces.
pub(crate) fn answers(data: &[u8]) {
    let Some((first, answer)) = data.split_first() else { return };
    let (dialect, cut) = (usize::from(*first) % DIALECTS, usize::from(*first) / DIALECTS);
    let read = |cut: usize| read_events(dialect, answer.chunks(cut).map(Bytes::copy_from_slice));
    let (ids, outcome) = read(cut + 1);
    assert!(ids.len() <= 4 && ids.iter().all(|id| (0..2048).contains(id)), "{ids:?}");
    assert!(outcome.is_err() || !ids.is_empty(), "an output without a token");
    let (whole, end) = read(answer.len().max(1));
    assert_eq!((ids, outcome.is_ok()), (whole, end.is_ok()), "cut differently");
}

/// Reads messages of Triton's stream. The length of each message precedes it.
pub(crate) fn streams(data: &[u8]) {
    let (ids, outcome) = read_messages(data);
    assert!(ids.len() <= 4 && ids.iter().all(|id| (0..32_000).contains(id)), "{ids:?}");
    assert!(outcome.is_err() || ids.len() == 4 || ids.last() == Some(&2), "cut off: {ids:?}");
}
