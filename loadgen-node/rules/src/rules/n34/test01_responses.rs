//! Compares the responses to samples that are in the logs of both TEST01 and the accuracy run.

use std::collections::BTreeMap;

use crate::{
    book::{Benchmark, Test},
    compliance::first_number,
    input::files,
    official_log::readable_entries::ReadableEntry,
    subject::{Findings, ResultEntry, RunKind, Subject},
    tree::VERIFY_ACCURACY,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        if let Some(benchmark) = entry.benchmark {
            test01(subject, benchmark, entry, found);
        }
    }
}

/// Finds samples with different responses in the two logs, if there are more of them than the
/// verification of TEST01 counted.
fn test01(subject: &Subject, benchmark: &Benchmark, entry: &ResultEntry, found: &mut Findings) {
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
