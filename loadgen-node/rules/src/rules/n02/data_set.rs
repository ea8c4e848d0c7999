//! Judges the data set: log, record, settings and manifest name the benchmark's data set, and an
//! accuracy run uses all of it (rules, sections 2.2 and 4.1.1).

use std::collections::BTreeSet;

use crate::{
    book::Benchmark,
    judge::samples::{check_manifests, check_sample_count},
    official_log::DetailLog,
    record::{DatasetPart, PartName, RunResult},
    subject::{Findings, PlaceJudgement, ResultEntry, RunFiles, Subject, missing_key},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        other_libraries(entry, found);
        let mut first: Option<(&str, BTreeSet<String>)> = None;
        for run in &entry.runs {
            let Some(record) = run.result() else { continue };
            let names = names(&record.dataset);
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
            let (place, known) = first.get_or_insert_with(|| (&run.record_place, names.clone()));
            if *known != names {
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

/// Returns the names of a data set's files, which `text` separates by `+`. Folders and endings are
/// omitted, because they differ between runs and between record and log.
fn names(text: &str) -> BTreeSet<String> {
    let name = |part: &str| {
        let file = part.trim().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = file.strip_suffix(".npy").unwrap_or(file);
        // LoadGen's log contains no quotes and no backslashes.
        name.replace('"', "'").replace('\\', "/").rsplit('/').next().unwrap_or_default().to_owned()
    };
    text.split('+').map(name).collect()
}

fn differences(record: &RunResult, detail: Option<&DetailLog>) -> Option<String> {
    let recorded = names(&record.dataset);
    let logged = detail.and_then(|detail| detail.text("qsl_name"));
    if let Some(logged) = logged.filter(|logged| names(logged) != recorded) {
        return Some(format!(
            "LoadGen's log has qsl_name `{logged}`, and the record the data set `{}`",
            record.dataset
        ));
    }
    let given = record.settings.get("dataset").and_then(|given| given.as_str());
    if let Some(given) = given.filter(|given| names(given) != recorded) {
        return Some(format!(
            "the settings of the run have the data set `{given}`, and the record has `{}`",
            record.dataset
        ));
    }
    let is_other = |part: &&crate::record::Prepared| !recorded.is_superset(&names(&part.data_set));
    let other = record.prepared.iter().find(is_other)?;
    Some(format!(
        "`{}` was prepared, and the record has the data set `{}`",
        other.data_set, record.dataset
    ))
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
        assert_eq!(names("/data/imagenet.npy"), names("imagenet"));
        assert_eq!(names("a/ids.npy+b/masks.npy"), names("masks+ids"));
        assert_eq!(names("data/images/"), names("images"));
        assert_ne!(names("imagenet"), names("coco"));
    }
}
