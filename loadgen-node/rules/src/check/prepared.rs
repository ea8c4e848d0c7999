//! Of N2, the data set: that of all runs of a result is the benchmark's (rules, sections 2.2 and 4.1.1), as far as it was prepared with a
//! manifest.

use super::{
    checked_folder::{Entry, Subject},
    findings::Findings,
};
use crate::{Rule::N2, judge::samples::prepared_otherwise, result::RunResult};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        for run in &entry.runs {
            let Some(record) = run.result() else { continue };
            let mut at = found.at(N2, &run.record_place);
            at.fail_each(entry.benchmark.and_then(|benchmark| {
                prepared_otherwise(benchmark, &record.prepared, run.is_accuracy())
            }));
        }
        if let Some(text) = differ(entry) {
            found.fail(N2, &entry.place, text);
        }
    }
}

/// Two runs of a result whose samples are not of one preparation.
fn differ(entry: &Entry) -> Option<String> {
    let digests = |record: &RunResult| -> Vec<String> {
        record.prepared.iter().map(|part| part.manifest_sha256.clone()).collect()
    };
    let mut records = entry.records().map(|(place, record)| (place, digests(record)));
    let (first, known) = records.next()?;
    let (other, _) = records.find(|(_, digests)| *digests != known)?;
    Some(format!(
        "the data sets of {first} and {other} have different manifests, or one has none: make both runs with the same data set"
    ))
}
