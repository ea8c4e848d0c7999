//! Probes: samples that test the network. A node without a model (engine `none`) answers each with
//! the number of bytes that it requests. Probes are sent like any other sample.

use std::time::Instant;

use bytes::{BufMut as _, Bytes, BytesMut};

/// First bytes of a probe, which distinguish it from other samples.
const MARK: [u8; 8] = *b"nd-probe";

/// Minimum length of a probe, in bytes: the mark and a length.
pub const MIN_BYTES: usize = 16;

/// Creates a probe of `bytes` bytes, at least [`MIN_BYTES`], which requests a response of
/// `answer_bytes` bytes.
pub fn sample(bytes: usize, answer_bytes: usize) -> Bytes {
    let mut sample = BytesMut::with_capacity(bytes.max(MIN_BYTES));
    sample.put_slice(&MARK);
    sample.put_u64_le(answer_bytes as u64);
    sample.put_bytes(0, bytes.saturating_sub(MIN_BYTES));
    sample.freeze()
}

/// Returns the number of bytes that a probe requests, or `None` if the sample is not a probe.
pub fn answer_bytes(sample: &[u8]) -> Option<u64> {
    let rest = sample.strip_prefix(&MARK)?;
    rest.first_chunk().map(|length| u64::from_le_bytes(*length))
}

/// Counts of a stream of probes at one moment.
#[derive(Debug, Clone, Copy)]
pub struct StreamCounts {
    /// Number of probes sent.
    pub sent: u64,
    /// Number of probes answered.
    pub answered: u64,
    /// Arrival of the last response; before the first one, the start of the stream.
    pub last: Instant,
}

impl StreamCounts {
    /// Returns the share, from 0 to 1, of the probes answered between these counts and `later` ones
    /// that had moved by `time`, the moment of these counts. Probes of a stream move one after the
    /// other, so they are spread evenly between the last responses of both. `None` until a probe
    /// that was in flight is answered.
    pub fn share_moved(&self, later: &Self, time: Instant) -> Option<f64> {
        let in_flight = self.sent > self.answered;
        if in_flight && later.answered == self.answered {
            return None;
        }
        let all = later.last.saturating_duration_since(self.last).as_secs_f64();
        let moved = time.saturating_duration_since(self.last).as_secs_f64();
        Some(if in_flight && all > 0.0 { (moved / all).min(1.0) } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_probe_asks_for_what_it_was_made_for() {
        assert_eq!(answer_bytes(&sample(100, 7)), Some(7));
        assert_eq!(sample(100, 7).len(), 100);
        assert_eq!(sample(0, 7).len(), MIN_BYTES);
        assert_eq!(answer_bytes(b"nd-probe123"), None);
        assert_eq!(answer_bytes(&[0; 100]), None);
    }

    #[test]
    fn a_probe_in_flight_counts_by_the_share_that_has_moved() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        // Sent and answered, and the time of the last response; the same later; the time in question.
        for (sent, answered, last, later, later_last, time, share) in [
            (4, 2, 100, 3, 200, 125, Some(0.25)),
            (4, 2, 100, 4, 300, 150, Some(0.25)),
            (4, 2, 100, 3, 200, 100, Some(0.0)),
            (4, 2, 100, 3, 200, 250, Some(1.0)),
            (4, 2, 100, 3, 100, 100, Some(0.0)),
            (4, 2, 100, 2, 100, 150, None),
            (2, 2, 100, 2, 100, 150, Some(0.0)),
            (2, 2, 100, 3, 200, 150, Some(0.0)),
        ] {
            let counts = StreamCounts { sent, answered, last: at(last) };
            let later = StreamCounts { sent: 9, answered: later, last: at(later_last) };
            assert_eq!(counts.share_moved(&later, at(time)), share, "{counts:?} {later:?} {time}");
        }
    }
}
