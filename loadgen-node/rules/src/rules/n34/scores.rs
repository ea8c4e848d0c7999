//! Compares the scores of TEST01's samples, by which a benchmark that is not deterministic may
//! pass.

use crate::{
    book::{Benchmark, Formats, Test},
    compliance::compare_baseline,
    subject::SubmissionTree,
    tree::{BASELINE_SCORES, ResultPaths, VERIFY_ACCURACY},
};
use std::path::Path;

/// Returns true if a folder has both files with scores.
pub(super) fn exist(accuracy: &Path) -> bool {
    BASELINE_SCORES.iter().all(|name| accuracy.join(name).is_file())
}

/// Compares the scores in a folder. Fails with the reasons if they differ.
pub(super) fn compare(
    accuracy: &Path,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Result<(), String> {
    let [baseline, compliance] = BASELINE_SCORES.map(|name| accuracy.join(name));
    let part = compare_baseline(&baseline, &compliance, benchmark, formats).map_err(|error| {
        let why = error.problems().join("; ");
        format!("the scores of the same samples cannot be compared: {why}")
    })?;
    if part.passed() { Ok(()) } else { Err(part.reasons()) }
}

/// Returns a finding if the scores beside a TEST01 that passes by its responses differ.
pub(super) fn contradiction(
    tree: &SubmissionTree,
    place: &ResultPaths,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Option<String> {
    let accuracy = tree.path(&place.compliance_accuracy(Test::Test01.name()));
    if !exist(&accuracy) {
        return None;
    }
    let why = compare(&accuracy, benchmark, formats).err()?;
    let [_, compliance] = BASELINE_SCORES;
    Some(format!(
        "{VERIFY_ACCURACY} passes, and {compliance} does not: {why}: score the samples of these two runs again, or remove both \
         files with scores"
    ))
}
