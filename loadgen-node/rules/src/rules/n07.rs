//! N7: no pre-processing, conversion or padding in the QDL, shown by digests (rules, section
//! 6.2.1). Equal digests at both ends of the network prove that no byte was changed; equal counts
//! do not.

use crate::{
    record::{Comparison, Digests, Mode, RunResult},
    subject::{Findings, ResultEntry, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (place, record, Digests { samples, bytes_issued, .. }) in conclusive_digests(subject, found)
    {
        let mut at = found.at(place);
        at.fail_each(differences("samples", samples));
        let sent = record.total(|node| node.bytes_sent);
        if *bytes_issued != sent {
            at.fail(format!(
                "the samples that LoadGen issued have {bytes_issued} bytes in the QSL, and {sent} payload bytes were sent"
            ));
        }
        let Comparison { sent, distinct, .. } = samples;
        at.or_pass(format!(
            "{sent} samples, {distinct} of them different, have the same digests at both ends"
        ));
    }
}

/// Minimum number of samples that a run with digests must compare, unless the data set is smaller.
const MIN_SAMPLES: u64 = 1000;

/// Returns the records whose digests suffice as proof, each as its path, the record and its
/// digests. Reports the other digests, and results without digests.
pub(super) fn conclusive_digests<'s>(
    subject: &'s Subject,
    found: &mut Findings,
) -> Vec<(&'s str, &'s RunResult, &'s Digests)> {
    let mut proven = Vec::new();
    if subject.is_foreign() {
        return proven;
    }
    for entry in &subject.results {
        let mut has_some = false;
        for (place, record) in entry.records() {
            let Some(digests) = &record.digests else { continue };
            has_some = true;
            match insufficiency(entry, record, digests) {
                Some(text) => found.fail(place, text),
                None => proven.push((place, record, digests)),
            }
        }
        if !has_some {
            let text = "no run compared what was sent with what arrived: run once with --digests";
            found.unknown(&entry.place, text);
        }
    }
    proven
}

/// Returns the reason why digests do not suffice as proof, such as too few samples.
fn insufficiency(entry: &ResultEntry, record: &RunResult, digests: &Digests) -> Option<String> {
    let benchmark = entry.benchmark?;
    let all = benchmark.set_samples(record.mode == Mode::Accuracy);
    let least = all.min(MIN_SAMPLES);
    let Comparison { sent, distinct, .. } = digests.samples;
    if let Some(tally) =
        [&digests.samples, &digests.responses].iter().find(|one| one.distinct > one.sent)
    {
        return Some(format!(
            "the record counts {} distinct digests among {}",
            tally.distinct, tally.sent
        ));
    }
    if distinct > all {
        return Some(format!(
            "the digests cover {distinct} different samples, and the data set has {all}"
        ));
    }
    // The digest of a response includes the sample that it answers, so that different samples have
    // different digests.
    if digests.responses.distinct < distinct {
        let responses = digests.responses.distinct;
        return Some(format!(
            "the digests cover {distinct} different samples, but only {responses} different responses"
        ));
    }
    if sent < least {
        return Some(format!("the digests cover {sent} samples; the minimum is {least}"));
    }
    // LoadGen draws samples at random, and some data sets contain a sample twice, so that half of
    // the minimum must be different.
    let different = least.min(benchmark.qsl_size) / 2;
    (distinct < different).then(|| {
        format!("only {distinct} of {sent} samples were different; the minimum is {different}")
    })
}

/// Returns a finding if the digests at the LoadGen node and at the nodes differ. `what` is
/// `samples` or `responses`.
pub(super) fn differences(what: &str, tally: &Comparison) -> Option<String> {
    match (tally.differences, &tally.sha256) {
        (0, Some(_)) => None,
        (0, None) => Some(format!(
            "the digests of {what} have no combined SHA-256: the record is incomplete"
        )),
        (count, _) => {
            let examples = tally.examples.join("; ");
            Some(format!("{count} {what} are not the same at both ends: {examples}"))
        }
    }
}
