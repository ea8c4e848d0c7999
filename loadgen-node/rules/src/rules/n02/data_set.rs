//! Judges the data set: log, record, settings and manifest name the benchmark's data set, and an
//! accuracy run uses all of it (rules, sections 2.2 and 4.1.1).

use std::collections::BTreeSet;

use crate::{
    book::Benchmark,
    judge::samples::{check_manifests, check_sample_count},
    official_log::DetailLog,
    record::{DatasetPart, PartName, Prepared, RunResult},
    subject::{Findings, PlaceJudgement, ResultEntry, RunFiles, Subject, missing_key},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        other_libraries(entry, found);
        let mut first = None;
        for run in &entry.runs {
            let Some(record) = run.result() else { continue };
            found.at(&run.record_place).fail_each(entry.benchmark.and_then(|benchmark| {
                check_manifests(benchmark, &record.prepared, run.is_accuracy())
            }));
            found
                .at(&run.record_place)
                .fail_each(entry.benchmark.and_then(|of| set_of_other_runs(of, run, record)));
            found.at(&run.record_place).fail_each(
                differences(record, run.detail())
                    .map(|text| format!("{text}: take the record as the run wrote it")),
            );
            let mut at = found.at(&run.record_place);
            let (place, known) = *first.get_or_insert((&run.record_place, &record.dataset));
            if !may_be_same(known, &record.dataset) {
                at.fail(format!(
                    "the data set is `{}`, but {place} has another one: make all runs of a result with one data set",
                    record.dataset
                ));
            }
        }
        if let Some(text) = prepared_differently(entry) {
            found.fail(&entry.place, text);
        }
    }
    for (entry, run, detail) in subject.details().filter(|(_, run, _)| run.is_accuracy()) {
        if let Some(benchmark) = entry.benchmark {
            whole_set(benchmark, detail, found.at(&run.place));
        }
    }
}

/// Finds logs of one result that name different QSLs.
fn other_libraries(entry: &ResultEntry, found: &mut Findings) {
    let named = entry.runs.iter().filter_map(|run| Some((run, run.detail()?.text("qsl_name")?)));
    let mut named = named.filter(|(run, _)| run.result().is_none());
    let Some((first, known)) = named.next() else { return };
    if entry.benchmark.is_some_and(|benchmark| benchmark.own_performance_set) {
        return;
    }
    for (run, name) in named.filter(|(_, name)| *name != known) {
        let text = format!(
            "qsl_name is `{name}`, and `{known}` in {}: make all runs of a result with one data set",
            first.place
        );
        found.fail(&run.place, text);
    }
}

/// Returns true if two texts may name one data set. A `+` in them is between two files, or in the name
/// of a folder.
fn may_be_same(one: &str, other: &str) -> bool {
    ["+", ".npy+"].iter().any(|between| names(one, between) == names(other, between))
}

/// Returns the names of a data set's files, whose paths `between` separates. Folders and endings are
/// omitted, because they differ between runs and between record and log.
fn names(text: &str, between: &str) -> BTreeSet<String> {
    // LoadGen's log contains no quotes and no backslashes.
    let text = text.replace('"', "'").replace('\\', "/");
    let files = text.split(between).flat_map(|path| {
        let path = path.trim().trim_end_matches('/');
        path.rsplit('/').next().unwrap_or_default().split('+')
    });
    files.map(|file| file.strip_suffix(".npy").unwrap_or(file).to_owned()).collect()
}

fn differences(record: &RunResult, detail: Option<&DetailLog>) -> Option<String> {
    let recorded = &record.dataset;
    let logged = detail.and_then(|detail| detail.text("qsl_name"));
    if let Some(logged) = logged.filter(|logged| !may_be_same(logged, recorded)) {
        return Some(format!(
            "LoadGen's log has qsl_name `{logged}`, and the record the data set `{recorded}`"
        ));
    }
    let given = record.settings.get("dataset").and_then(|given| given.as_str());
    if let Some(given) = given.filter(|given| !may_be_same(given, recorded)) {
        return Some(format!(
            "the settings of the run have the data set `{given}`, and the record has `{recorded}`"
        ));
    }
    let names = |text: &str| names(text, "+");
    let is_other = |part: &&Prepared| !names(recorded).is_superset(&names(&part.data_set));
    let other = record.prepared.iter().find(is_other)?;
    Some(format!("`{}` was prepared, and the record has the data set `{recorded}`", other.data_set))
}

/// Returns a finding if two runs of a result used data sets with different manifests, or only one
/// of the runs used a data set with a manifest.
fn prepared_differently(entry: &ResultEntry) -> Option<String> {
    let digests = |record: &RunResult| -> Vec<String> {
        record.prepared.iter().map(|part| part.manifest_sha256.clone()).collect()
    };
    let mut records = entry.records().map(|(place, record)| (place, digests(record)));
    let (first, known) = records.next()?;
    let (other, _) = records.find(|(_, digests)| *digests != known)?;
    Some(format!(
        "the data sets of {first} and {other} have different manifests, or one has no manifest: make both runs with the same \
         data set"
    ))
}

/// Returns a finding if a run used the part of a data set that is for runs in another mode.
fn set_of_other_runs(benchmark: &Benchmark, run: &RunFiles, record: &RunResult) -> Option<String> {
    let (mode, count) = (record.mode, record.dataset_samples);
    let DatasetPart { name: part, .. } = record.dataset_part?;
    let wanted = mode.part()?;
    let is_test = run.is_test() || record.settings.contains_key("audit_config");
    (part != wanted && !(is_test && part == PartName::Test07)).then(|| {
        let own = benchmark.set_samples(wanted == PartName::Accuracy);
        format!(
            "the run in mode {mode} used the part {part} of the data set, {count} samples, and needs {wanted}, {own} samples: omit \
             --dataset-part, and run again"
        )
    })
}

fn whole_set(benchmark: &Benchmark, detail: &DetailLog, mut at: PlaceJudgement) {
    match detail.accuracy_samples() {
        Some(count) => at.fail_each(
            check_sample_count(benchmark, count).map(|what| format!("the accuracy run had {what}")),
        ),
        None => at.fail(missing_key("qsl_reported_total_count")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_endings_do_not_count() {
        for (one, other, is_same) in [
            ("/data/imagenet.npy", "imagenet", true),
            ("a/ids.npy+b/masks.npy", "masks+ids", true),
            ("a/ids+b/masks", "masks+ids", true),
            ("data/images/", "images", true),
            ("/c++/a+b/imagenet.npy", "imagenet", true),
            ("/a+b/ids.npy+/a+b/x+y.npy", "/c/ids.npy+/c/x+y.npy", true),
            ("imagenet", "coco", false),
            ("a/ids.npy+b/masks.npy", "a/other.npy+b/masks.npy", false),
            ("/c++/imagenet.npy", "coco", false),
        ] {
            assert_eq!(may_be_same(one, other), is_same, "{one} {other}");
        }
    }
}
