//! TEST01: compares the responses to samples that are in the logs of both the test and the accuracy
//! run, and the scores by which a benchmark that is not deterministic may pass.

use std::{collections::BTreeMap, path::Path};

use crate::{
    book::{Benchmark, Formats, Test},
    compliance::{compare_baseline, first_number},
    input::files,
    official_log::readable_entries::ReadableEntry,
    subject::{Findings, ResultEntry, RunKind, Subject, SubmissionTree},
    tree::{BASELINE_SCORES, ResultPaths, VERIFY_ACCURACY},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        if let Some(benchmark) = entry.benchmark {
            judge_result(subject, benchmark, entry, found);
        }
    }
}

/// Finds samples with different responses in the two logs, if there are more of them than the
/// verification of TEST01 counted.
fn judge_result(
    subject: &Subject,
    benchmark: &Benchmark,
    entry: &ResultEntry,
    found: &mut Findings,
) {
    let of = |kind: RunKind| subject.read_answers(entry, entry.run(kind)?);
    let Some(test) = of(RunKind::Test(Test::Test01)) else { return };
    let Some(reference) = of(RunKind::Accuracy) else { return };
    let (Some(tree), Some(place)) = (&subject.tree, &entry.tree) else { return };
    let first = |entry: &ReadableEntry| first_number(benchmark, &entry.data).ok().flatten();
    let known: BTreeMap<_, _> =
        reference.entries.iter().map(|entry| (entry.qsl_idx, first(entry))).collect();
    let is_other = |entry: &&ReadableEntry| {
        known.get(&entry.qsl_idx).is_some_and(|known| *known != first(entry))
    };
    let others: Vec<_> = test.entries.iter().filter(is_other).collect();
    let folder = place.compliance(Test::Test01.name());
    let text = files::read_to_string(&tree.path(&format!("{folder}/{VERIFY_ACCURACY}")));
    let counted = text.ok().and_then(|text| {
        let line =
            text.lines().find_map(|line| line.strip_prefix("num_perf_log_data_mismatch = "))?;
        line.trim().parse::<usize>().ok()
    });
    let counted = counted.unwrap_or(0);
    if let Some(ReadableEntry { qsl_idx, .. }) = others.first().filter(|_| others.len() > counted) {
        let text = format!(
            "sample {qsl_idx} was answered differently in the accuracy run, and {VERIFY_ACCURACY} counts {counted} \
             mismatches: verify the test again"
        );
        found.fail(folder, text);
    }
}

/// Returns true if a folder has both files with scores.
pub(super) fn scores_exist(accuracy: &Path) -> bool {
    BASELINE_SCORES.iter().all(|name| accuracy.join(name).is_file())
}

/// Compares the scores in a folder. Fails with the reasons if they differ.
pub(super) fn compare_scores(
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
pub(super) fn score_contradiction(
    tree: &SubmissionTree,
    place: &ResultPaths,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Option<String> {
    let accuracy = tree.path(&place.compliance_accuracy(Test::Test01.name()));
    if !scores_exist(&accuracy) {
        return None;
    }
    let why = compare_scores(&accuracy, benchmark, formats).err()?;
    let [_, compliance] = BASELINE_SCORES;
    Some(format!(
        "{VERIFY_ACCURACY} passes, and {compliance} does not: {why}: score the samples of these two runs again, or remove both \
         files with scores"
    ))
}
