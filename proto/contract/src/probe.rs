//! Samples that test the network: a node without a model (engine `none`) answers each with as many bytes as it asks
//! for. They travel like any other sample.

use bytes::{BufMut as _, Bytes, BytesMut};

/// The first bytes of a probe.
const MARK: [u8; 8] = *b"nd-probe";

/// Shortest probe, in bytes: the mark and a length.
pub const LEAST_BYTES: usize = 16;

/// A sample of that many bytes, at least [`LEAST_BYTES`], which asks for an answer of that many.
pub fn sample(bytes: usize, answer_bytes: usize) -> Bytes {
    let mut sample = BytesMut::with_capacity(bytes.max(LEAST_BYTES));
    sample.put_slice(&MARK);
    sample.put_u64_le(answer_bytes as u64);
    sample.put_bytes(0, bytes.saturating_sub(LEAST_BYTES));
    sample.freeze()
}

/// How many bytes a sample asks for; `None` if it is not a probe.
pub fn answer_bytes(sample: &[u8]) -> Option<u64> {
    let rest = sample.strip_prefix(&MARK)?;
    rest.first_chunk().map(|length| u64::from_le_bytes(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_asks_for_what_it_was_made_for() {
        assert_eq!(answer_bytes(&sample(100, 7)), Some(7));
        assert_eq!(sample(100, 7).len(), 100);
        assert_eq!(sample(0, 7).len(), LEAST_BYTES);
        assert_eq!(answer_bytes(b"nd-probe123"), None);
        assert_eq!(answer_bytes(&[0; 100]), None);
    }
}
