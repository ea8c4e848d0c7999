//! Runs with digests, which prove of every byte what counts cannot (N7, N8, N10).

use crate::{
    record::{Comparison, Digests, RunResult},
    subject::{Entry, Findings, Subject},
};

/// Least number of samples whose digests show something, where the data set has as many.
const MANY: u64 = 1000;

/// Returns the records whose digests prove something, each with its place; finds where they prove too little, and where none are.
pub(super) fn proven<'s>(
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
            match too_little(entry, digests) {
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

/// Returns why digests prove nothing: a proof takes enough samples.
fn too_little(entry: &Entry, digests: &Digests) -> Option<String> {
    let benchmark = entry.benchmark?;
    let least = benchmark.dataset_samples.min(MANY);
    let Comparison { sent, distinct, .. } = digests.samples;
    if let Some(tally) =
        [&digests.samples, &digests.responses].iter().find(|one| one.distinct > one.sent)
    {
        return Some(format!(
            "the digests have {} different ones of {}",
            tally.distinct, tally.sent
        ));
    }
    if distinct > benchmark.dataset_samples {
        let all = benchmark.dataset_samples;
        return Some(format!(
            "the digests are of {distinct} different samples, and the data set has {all}"
        ));
    }
    // A response's digest is also of the sample that it answers.
    if digests.responses.distinct < distinct {
        let responses = digests.responses.distinct;
        return Some(format!(
            "the digests are of {distinct} different samples, and of {responses} different responses to them"
        ));
    }
    if sent < least {
        return Some(format!("the digests are of {sent} samples; {least} are the least"));
    }
    // Samples are drawn by chance, and data sets have some twice.
    let different = least.min(benchmark.qsl_size) / 2;
    (distinct < different).then(|| {
        format!("of {sent} samples only {distinct} were different; {different} are the least")
    })
}

/// Returns how the two ends differ.
pub(super) fn differences(what: &str, tally: &Comparison) -> Option<String> {
    match (tally.differences, &tally.sha256) {
        (0, Some(_)) => None,
        (0, None) => {
            Some(format!("the digests of {what} have no common sum: the record is not whole"))
        }
        (count, _) => {
            let examples = tally.examples.join("; ");
            Some(format!("{count} {what} are not the same at both ends: {examples}"))
        }
    }
}
