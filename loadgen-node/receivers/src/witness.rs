//! Witness on LoadGen's side, outside the QDL: digests of what was loaded, issued and completed.
//! Nodes keep their own digests. Equal tallies prove that every byte arrived as it was sent (rules,
//! section 6.2.1).

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use netdiv_contract::tally::{self, PayloadDigest, Tally};
use netdiv_rules::record::{Comparison, Digests};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Maximum number of differences that are shown.
const SHOWN: usize = 5;

/// Digests and counts of the samples that LoadGen issued, and of the responses that it received.
#[derive(Debug)]
pub struct Witness {
    samples: Vec<WitnessedSample>,
    responses: Mutex<Tally>,
}

#[derive(Debug, Default)]
struct WitnessedSample {
    issued: AtomicU64,
    /// Digest and length of the payload, as the QSL holds it.
    loaded: Mutex<Option<(PayloadDigest, u64)>>,
}

impl Witness {
    /// Memory that a witness needs for each sample of the data set, in bytes.
    pub const BYTES_PER_SAMPLE: usize = size_of::<WitnessedSample>();

    /// Creates a witness for a data set with `samples` samples.
    pub fn new(samples: usize) -> Self {
        let samples = (0..samples).map(|_| WitnessedSample::default()).collect();
        Self { samples, responses: Mutex::default() }
    }

    /// Records that the QSL has loaded a sample.
    pub fn record_load(&self, index: usize, payload: &[u8]) {
        if let Some(sample) = self.samples.get(index) {
            *sample.loaded.lock() = Some((tally::digest(payload), payload.len() as u64));
        }
    }

    /// Records that LoadGen has issued a sample.
    pub fn record_issue(&self, index: usize) {
        if let Some(sample) = self.samples.get(index) {
            sample.issued.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records the responses that LoadGen received.
    pub fn record_responses<'a>(&self, answers: impl Iterator<Item = (usize, &'a Bytes)>) {
        let digest = |(index, response): (usize, &'a Bytes)| {
            let sample = self.samples.get(index).and_then(|sample| *sample.loaded.lock());
            let (sample, _) = sample.unwrap_or_default();
            tally::response_digest(sample, response)
        };
        let digests: Vec<_> = answers.map(digest).collect();
        let mut responses = self.responses.lock();
        digests.into_iter().for_each(|digest| responses.add(digest, 1));
    }

    /// Compares the samples that LoadGen issued with those that all nodes `received`, and the
    /// responses that all nodes `sent` with those that LoadGen received.
    pub fn compare(&self, received: &Tally, sent: &Tally) -> Digests {
        let mut issued = Tally::default();
        let mut names = BTreeMap::new();
        let mut bytes_issued = 0;
        for (index, sample) in self.samples.iter().enumerate() {
            let count = sample.issued.load(Ordering::Relaxed);
            if let (Some((digest, bytes)), 1..) = (*sample.loaded.lock(), count) {
                issued.add(digest, count);
                names.insert(digest, format!("sample {index}"));
                bytes_issued = u64::saturating_add(bytes_issued, bytes.saturating_mul(count));
            }
        }
        Digests {
            samples: comparison(&issued, received, &names),
            responses: comparison(sent, &self.responses.lock(), &BTreeMap::new()),
            bytes_issued,
        }
    }
}

fn comparison(
    sent: &Tally,
    received: &Tally,
    names: &BTreeMap<PayloadDigest, String>,
) -> Comparison {
    let mut counts: BTreeMap<PayloadDigest, (u64, u64)> = BTreeMap::new();
    for (digest, count) in sent.sorted() {
        counts.entry(digest).or_default().0 = count;
    }
    for (digest, count) in received.sorted() {
        counts.entry(digest).or_default().1 = count;
    }
    let overflow = sent.overflow().max(received.overflow());
    let mut all = Sha256::new();
    let (mut differences, mut examples) = (overflow, Vec::new());
    for (digest, (sent, received)) in &counts {
        all.update(digest);
        all.update(sent.to_le_bytes());
        if sent == received {
            continue;
        }
        // A node may report any count, so that the sum could overflow.
        differences = u64::saturating_add(differences, sent.abs_diff(*received));
        if examples.len() < SHOWN {
            let unknown = || format!("the payload {}", hex::encode(digest));
            let name = names.get(digest).cloned().unwrap_or_else(unknown);
            examples.push(format!("{name} was sent {sent} times and received {received} times"));
        }
    }
    if overflow > 0 {
        examples.push(format!(
            "{overflow} payloads could not be compared, because there are too many different ones"
        ));
    }
    Comparison {
        sent: sent.total(),
        received: received.total(),
        distinct: counts.len() as u64,
        differences,
        examples,
        sha256: (differences == 0).then(|| hex::encode(all.finalize())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(payloads: &[&[u8]]) -> Tally {
        let mut tally = Tally::default();
        payloads.iter().for_each(|payload| tally.add(tally::digest(payload), 1));
        tally
    }

    #[test]
    fn a_changed_lost_repeated_or_invented_payload_is_found() {
        let witness = Witness::new(2);
        witness.record_load(0, b"zero");
        witness.record_load(1, b"one");
        for index in [0, 1, 1] {
            witness.record_issue(index);
        }
        let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        witness.record_responses([(0, &a), (1, &b)].into_iter());
        let answers = |answers: &[(&[u8], &[u8])]| {
            let mut tally = Tally::default();
            let digest =
                |(sample, response)| tally::response_digest(tally::digest(sample), response);
            answers.iter().copied().map(digest).for_each(|digest| tally.add(digest, 1));
            tally
        };
        let sent = answers(&[(b"one", b"b"), (b"zero", b"a")]);

        let equal = witness.compare(&tally(&[b"one", b"zero", b"one"]), &sent);
        assert_eq!((equal.samples.sent, equal.samples.distinct, equal.bytes_issued), (3, 2, 10));
        assert_eq!((equal.samples.differences, equal.responses.differences), (0, 0));
        assert!(equal.samples.sha256.is_some());

        for (received, differences) in [
            (tally(&[b"one", b"zero", b"onE"]), 2),
            (tally(&[b"one", b"zero"]), 1),
            (tally(&[b"one", b"zero", b"zero"]), 2),
            (tally(&[b"one", b"zero", b"one", b"two"]), 1),
        ] {
            let compared = witness.compare(&received, &sent).samples;
            assert_eq!((compared.differences, compared.sha256), (differences, None));
        }
        let exchanged = answers(&[(b"one", b"a"), (b"zero", b"b")]);
        assert_eq!(witness.compare(&tally(&[]), &exchanged).responses.differences, 4);
        let mut wrapping = tally(&[b"zero", b"one", b"one"]);
        wrapping.add(tally::digest(b"alien"), u64::MAX);
        assert_eq!(witness.compare(&wrapping, &sent).samples.differences, u64::MAX);
        let short = witness.compare(&tally(&[b"one", b"zero"]), &answers(&[(b"zero", b"a")]));
        assert_eq!(short.samples.examples, ["sample 1 was sent 2 times and received 1 times"]);
        assert_eq!(short.responses.differences, 1);
    }
}
