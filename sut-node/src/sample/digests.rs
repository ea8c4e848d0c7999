//! Proof that every byte arrived unchanged: digests of the samples that a session receives and of
//! its responses, if its client requests them. The client compares them with its own.

use netdiv_contract::{
    limits::MAX_DIGESTS_PER_REPLY,
    tally::{self, MAX_PAYLOADS, PayloadDigest, Tally},
    v1::{self, DigestCount, DigestsRequest, DigestsResponse},
};
use parking_lot::Mutex;
use tonic::Status;

/// Tallies of a session: digests of its samples, and of its responses.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    samples: Mutex<SortedTally>,
    responses: Mutex<SortedTally>,
}

/// A tally, and its entries in order, from the first request for them on.
#[derive(Debug, Default)]
struct SortedTally {
    tally: Tally,
    sorted: Option<Vec<(PayloadDigest, u64)>>,
}

impl SortedTally {
    fn add(&mut self, digest: PayloadDigest) {
        self.sorted = None;
        self.tally.add(digest, 1);
    }
}

impl Digests {
    /// Adds the digest of a sample's payload, as it was received, and returns it.
    pub(crate) fn add_sample(&self, payload: &[u8]) -> PayloadDigest {
        let digest = tally::digest(payload);
        self.samples.lock().add(digest);
        digest
    }

    /// Adds the digest of a response, before it is encoded. `sample` is the digest of its sample.
    pub(crate) fn add_response(&self, sample: PayloadDigest, response: &[u8]) {
        let digest = tally::response_digest(sample, response);
        self.responses.lock().add(digest);
    }

    /// Returns the part of a tally that a client requests: a number of entries after the skipped
    /// ones, and the total number of entries.
    pub(crate) fn part(&self, request: &DigestsRequest) -> Result<DigestsResponse, Status> {
        let mut kept = match v1::Tally::try_from(request.tally) {
            Ok(v1::Tally::Samples) => self.samples.lock(),
            Ok(v1::Tally::Responses) => self.responses.lock(),
            Err(_) => return Err(Status::invalid_argument("there is no such tally")),
        };
        let SortedTally { tally, sorted } = &mut *kept;
        if tally.overflow() > 0 {
            let text = format!("more than {MAX_PAYLOADS} different payloads; make a shorter run");
            return Err(Status::resource_exhausted(text));
        }
        let entries = sorted.get_or_insert_with(|| tally.sorted());
        let total = entries.len() as u64;
        let skip = usize::try_from(request.skip).unwrap_or(usize::MAX);
        let entry = |(digest, count): &(PayloadDigest, u64)| DigestCount {
            digest: digest.to_vec().into(),
            count: *count,
        };
        let entries = entries.iter().skip(skip).take(MAX_DIGESTS_PER_REPLY).map(entry).collect();
        Ok(DigestsResponse { entries, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_tally_comes_in_parts() {
        let digests = Digests::default();
        let payloads = MAX_DIGESTS_PER_REPLY as u64 + 5;
        for n in 0..payloads {
            digests.add_sample(&n.to_le_bytes());
        }
        let mut all = Tally::default();
        loop {
            let skip = all.distinct() as u64;
            let part = digests.part(&DigestsRequest { skip, ..Default::default() }).unwrap();
            assert_eq!(part.total, payloads);
            if part.entries.is_empty() {
                break;
            }
            all.add_entries(&part.entries).unwrap();
        }
        assert_eq!((all.total(), all.distinct() as u64), (payloads, payloads));
        let request = DigestsRequest { tally: 7, ..Default::default() };
        assert!(digests.part(&request).is_err());
    }
}
