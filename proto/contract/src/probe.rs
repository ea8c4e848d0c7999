//! Probes: samples that test the network. A node without a model (engine `none`) answers each with
//! the number of bytes that it requests. Probes are sent like any other sample.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_asks_for_what_it_was_made_for() {
        assert_eq!(answer_bytes(&sample(100, 7)), Some(7));
        assert_eq!(sample(100, 7).len(), 100);
        assert_eq!(sample(0, 7).len(), MIN_BYTES);
        assert_eq!(answer_bytes(b"nd-probe123"), None);
        assert_eq!(answer_bytes(&[0; 100]), None);
    }
}
