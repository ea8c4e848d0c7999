//! Requires that every log is the one that its run wrote.

use std::{collections::BTreeSet, path::Path};

use crate::{
    compliance::accuracy_hash,
    facts::official_log,
    input::files,
    record::RunResult,
    subject::{
        Findings, PlaceJudgement, ResultEntry, RunFiles, Subject, SubmissionTree, logs::is_changed,
        unusable_files::CHANGED,
    },
    tree::{ACCURACY_LOG, ACCURACY_TXT, DETAIL, Layout, ResultPaths, SUMMARY},
};

/// Maximum size of a truncated accuracy log, in bytes. The official script leaves 8 KiB.
const LARGEST_ACCURACY_LOG: u64 = 10 * 1024;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run) in subject.runs() {
        let Some(record) = run.result() else { continue };
        let mut at = found.at(&run.place);
        hashes(subject, run, record, &mut at);
        at.or_pass("every log is the one that its run made, by the hashes in result.json");
    }
    let Some(tree) = &subject.tree else { return };
    for entry in &subject.results {
        if let Some(place) = &entry.tree {
            accuracy(tree, place, entry, found);
        }
    }
}

/// Finds logs that differ from the record's hashes, and so were edited.
fn hashes(subject: &Subject, run: &RunFiles, record: &RunResult, at: &mut PlaceJudgement) {
    // In a tree the accuracy log is truncated; its hash is in accuracy.txt.
    let names: &[&str] = match (&run.logs, &subject.tree) {
        (None, _) => &[],
        (_, Some(_)) => &[DETAIL, SUMMARY],
        (_, None) => &[DETAIL, SUMMARY, ACCURACY_LOG],
    };
    for name in names {
        if run.folder.join(name).exists() && !record.logs.contains_key(*name) {
            at.fail_at(&run.record_place, format!("has no hash of {name}"));
        }
        // A changed detail log or summary is set aside, so that nothing is judged by it.
        if *name == ACCURACY_LOG && is_changed(&run.folder, name, record) {
            at.fail_at(*name, CHANGED);
        }
    }
}

/// Judges the accuracy logs: a complete log must be the one that its run wrote. That of the
/// accuracy run must be truncated, and the `hash=` in accuracy.txt must be the SHA-256 of the
/// complete log.
fn accuracy(tree: &SubmissionTree, place: &ResultPaths, entry: &ResultEntry, found: &mut Findings) {
    for run in &entry.runs {
        let whole = run.result().and_then(|record| record.logs.get(ACCURACY_LOG));
        let folder = entry.answers_place(run);
        // The run of a test may have the log beside the others, too.
        for folder in BTreeSet::from([run.place.as_str(), folder.as_str()]) {
            let log = format!("{folder}/{ACCURACY_LOG}");
            let path = tree.path(&log);
            if path.exists() && run.result().is_some() && whole.is_none() {
                found.fail(&run.record_place, format!("has no hash of {ACCURACY_LOG}"));
            }
            let here = complete_log_sha256(&path);
            if whole.zip(here).is_some_and(|(whole, here)| *whole != here) {
                found.fail(log, CHANGED);
            }
        }
        // The official checker and the truncation tool leave TEST06's log complete.
        if run.is_accuracy() || run.is_test() && !run.is_token_test() {
            // From round v6.0 on, the official tools leave the logs of tests complete.
            let is_left = place.home.layout == Layout::B && run.is_test();
            truncated(tree, &folder, whole, is_left, found);
        }
    }
}

/// Returns the SHA-256 of an accuracy log; `None` if the log is missing, empty or truncated.
fn complete_log_sha256(log: &Path) -> Option<String> {
    let is_complete = match log.metadata().ok()?.len() {
        0 => false,
        1..=LARGEST_ACCURACY_LOG => !official_log::is_truncated(&files::read(log).ok()?),
        _ => true,
    };
    is_complete.then(|| files::sha256(log).ok()).flatten()
}

fn truncated(
    tree: &SubmissionTree,
    folder: &str,
    whole: Option<&String>,
    is_left: bool,
    found: &mut Findings,
) {
    let log = format!("{folder}/{ACCURACY_LOG}");
    let path = tree.path(&log);
    let length = path.metadata().map_or(0, |file| file.len());
    if length > LARGEST_ACCURACY_LOG && !is_left {
        let text = format!("has {length} bytes: truncate it to 10 KiB, as the official tool does");
        found.fail(log, text);
    }
    let text = format!("{folder}/{ACCURACY_TXT}");
    let Ok(hash) = accuracy_hash(&tree.path(&text)) else { return };
    let mut at = found.at(&text);
    let lines = tree.text(&text).unwrap_or_default();
    let mut hashes: Vec<_> = lines.lines().filter_map(|line| line.strip_prefix("hash=")).collect();
    hashes.dedup();
    match (hash, whole) {
        (_, Some(_)) if hashes.len() > 1 => {
            at.fail("has several lines hash=: keep the one that the truncation tool wrote")
        }
        // A script may write its own hash before the tool does (Qwen3-VL).
        (_, None) if hashes.len() > 1 => at.unknown(
            "has several lines hash=, and the checker uses the last: keep the one that the truncation tool wrote",
        ),
        (None, None) if is_left => {}
        (None, _) => at.fail("has no line hash=: add the whole log's SHA-256"),
        (Some(hash), Some(whole)) if hash != *whole => {
            at.fail("its hash= is not the hash of the accuracy log that the run wrote");
        }
        // With a record, the log itself is compared.
        (Some(hash), None) if complete_log_sha256(&path).is_some_and(|here| here != hash) => {
            at.fail("its hash= is not the hash of the accuracy log beside it");
        }
        _ => {}
    }
}
