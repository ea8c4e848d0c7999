//! N2: log, record and settings name one data set; N32: the QSL holds the part of it that the run was given.

use std::collections::BTreeSet;

use super::{
    checked_folder::{Entry, Subject},
    findings::Findings,
};
use crate::{
    Rule::{N2, N32},
    official_log::DetailLog,
    result::RunResult,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        other_libraries(entry, found);
        let mut first: Option<(&str, BTreeSet<String>)> = None;
        for run in &entry.runs {
            let Some(record) = run.result() else { continue };
            let names = names(&record.dataset);
            found.at(N2, &run.record_place).fail_each(
                differences(record, run.detail())
                    .map(|text| format!("{text}: take the record as the run wrote it")),
            );
            if let Some(text) = run.detail().and_then(|detail| other_part(record, detail)) {
                found.fail(N32, &run.place, text);
            }
            let mut at = found.at(N2, &run.record_place);
            let (place, known) = first.get_or_insert_with(|| (&run.record_place, names.clone()));
            if *known != names {
                at.fail(format!(
                    "the data set is `{}`, and was another one in {place}: make all runs of a result with one data set",
                    record.dataset
                ));
            }
        }
    }
}

/// LoadGen's logs of one result name one QSL.
fn other_libraries(entry: &Entry, found: &mut Findings) {
    let named = entry.runs.iter().filter_map(|run| Some((run, run.detail()?.text("qsl_name")?)));
    let mut named = named.filter(|(run, _)| run.result().is_none());
    let Some((first, known)) = named.next() else { return };
    for (run, name) in named.filter(|(_, name)| *name != known) {
        let text = format!(
            "qsl_name is `{name}`, and `{known}` in {}: make all runs of a result with one data set",
            first.place
        );
        found.fail(N2, &run.place, text);
    }
}

/// Names of the files of a data set, without folders and endings: they differ between runs and between record and log.
fn names(text: &str) -> BTreeSet<String> {
    let name = |part: &str| {
        let file = part.trim().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = file.strip_suffix(".npy").unwrap_or(file);
        // LoadGen's log has no quotes and backslashes.
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
            "the run was given the data set `{given}`, and the record has `{}`",
            record.dataset
        ));
    }
    let is_other = |part: &&crate::result::Prepared| !recorded.is_superset(&names(&part.data_set));
    let other = record.prepared.iter().find(is_other)?;
    Some(format!(
        "`{}` was prepared, and the record has the data set `{}`",
        other.data_set, record.dataset
    ))
}

/// The QSL reports as many samples for performance as the run was given, or all of them.
fn other_part(record: &RunResult, detail: &DetailLog) -> Option<String> {
    if record.settings.is_empty() {
        return None;
    }
    let logged = detail.integer("qsl_reported_performance_count")?;
    let total = record.dataset_samples;
    // Another total is a finding of its own.
    detail.integer("qsl_reported_total_count").filter(|logged| *logged == total)?;
    let given = record.settings.get("performance_samples").and_then(|given| given.as_u64());
    let expected = given.unwrap_or(total).min(total);
    (logged != expected).then(|| {
        format!(
            "qsl_reported_performance_count is {logged}, and the run was given {expected} performance samples: submit the log as \
             LoadGen wrote it"
        )
    })
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
