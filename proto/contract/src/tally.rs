//! Tally of payloads: the number of occurrences of each. In a run with digests, each end keeps its
//! own tally.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::v1::DigestCount;

/// Maximum number of distinct payloads in a tally: twice the largest data set of the v5.0 suite.
pub const MAX_PAYLOADS: usize = 1 << 21;

/// First 16 bytes of a payload's SHA-256.
pub type PayloadDigest = [u8; 16];

/// Returns the digest of a payload.
pub fn digest(payload: &[u8]) -> PayloadDigest {
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(payload)[..16]);
    digest
}

/// Returns the digest of a response together with its sample. An equal response to another sample
/// has another digest.
pub fn response_digest(sample: PayloadDigest, response: &[u8]) -> PayloadDigest {
    let mut hasher = Sha256::new();
    hasher.update(sample);
    hasher.update(response);
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize()[..16]);
    digest
}

/// Number of occurrences of each payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    counts: HashMap<PayloadDigest, u64>,
    /// Number of payloads that arrived when the tally already had [`MAX_PAYLOADS`] other payloads.
    overflow: u64,
}

impl Tally {
    /// Adds `count` payloads with this digest.
    pub fn add(&mut self, digest: PayloadDigest, count: u64) {
        let room = self.counts.len() < MAX_PAYLOADS;
        match self.counts.get_mut(&digest) {
            Some(known) => *known = known.saturating_add(count),
            None if room => drop(self.counts.insert(digest, count)),
            None => self.overflow = self.overflow.saturating_add(count),
        }
    }

    /// Number of payloads that were not distinguished because the tally was full.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Number of distinct payloads.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// Number of payloads, with repetitions.
    pub fn total(&self) -> u64 {
        self.counts.values().fold(self.overflow, |sum, count| sum.saturating_add(*count))
    }

    /// Returns each digest with its count, in ascending order.
    pub fn sorted(&self) -> Vec<(PayloadDigest, u64)> {
        let mut entries: Vec<_> = self.counts.iter().map(|(digest, n)| (*digest, *n)).collect();
        entries.sort_unstable();
        entries
    }

    /// Adds another tally.
    pub fn join(&mut self, other: Self) {
        other.counts.into_iter().for_each(|(digest, count)| self.add(digest, count));
        self.overflow = self.overflow.saturating_add(other.overflow);
    }

    /// Adds entries of the other end's tally, which a reply contains in parts. Fails if a digest
    /// does not have 16 bytes.
    pub fn add_entries(&mut self, entries: &[DigestCount]) -> Result<(), String> {
        for DigestCount { digest, count } in entries {
            let digest = PayloadDigest::try_from(&digest[..])
                .map_err(|_| format!("a digest has {} bytes instead of 16", digest.len()))?;
            self.add(digest, *count);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_counted_and_travel() {
        let mut tally = Tally::default();
        tally.add(digest(b"a"), 2);
        tally.add(digest(b"b"), 1);
        tally.add(digest(b"a"), 1);
        assert_eq!((tally.total(), tally.distinct(), tally.overflow()), (4, 2, 0));
        let entry = |(digest, count): (PayloadDigest, u64)| DigestCount {
            digest: digest.to_vec().into(),
            count,
        };
        let entries: Vec<_> = tally.sorted().into_iter().map(entry).collect();
        let mut copy = Tally::default();
        copy.add_entries(&entries).unwrap();
        assert_eq!(copy, tally);
        let short = DigestCount { digest: vec![1].into(), count: 1 };
        assert!(copy.add_entries(&[short]).is_err());
    }
}
