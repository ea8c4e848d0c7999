//! Compares the responses in LoadGen's accuracy logs with the run: their number, their sequence
//! numbers, and the samples that they answer.

use std::collections::BTreeSet;

use crate::{
    official_log::readable_entries::{ReadableEntry, ReadableLog},
    subject::{Findings, RunFiles, RunKind, Subject},
    tree::ACCURACY_LOG,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        let Some(log) = subject.read_answers(entry, run) else { continue };
        for text in miscounted(run, &log) {
            let text = format!("{ACCURACY_LOG} {text}: submit the log as LoadGen wrote it");
            found.fail(&run.place, text);
        }
    }
}

fn miscounted(run: &RunFiles, log: &ReadableLog) -> Vec<String> {
    let mut wrong = Vec::new();
    let numbers: BTreeSet<_> = log.entries.iter().map(|entry| entry.seq_id).collect();
    if numbers.len() < log.entries.len() {
        wrong.push("has two entries of one seq_id".into());
    }
    let issued = run.result().map(|record| record.samples.issued);
    let is_over = |entry: &&ReadableEntry| issued.is_some_and(|issued| entry.seq_id >= issued);
    if let Some(ReadableEntry { seq_id, .. }) = log.entries.iter().find(is_over) {
        wrong.push(format!("has seq_id {seq_id}, and {} samples were issued", issued.unwrap_or(0)));
    }
    // N2 reports a difference between the record and the log in the size of the data set.
    let recorded = run.result().map(|record| record.dataset_samples);
    let logged = run.detail().and_then(|detail| detail.integer("qsl_reported_total_count"));
    let total =
        logged.or(recorded).filter(|total| recorded.is_none_or(|recorded| recorded == *total));
    let is_beyond = |entry: &&ReadableEntry| total.is_some_and(|total| entry.qsl_idx >= total);
    if let Some(ReadableEntry { qsl_idx, .. }) = log.entries.iter().find(is_beyond) {
        wrong.push(format!("has sample {qsl_idx} of a data set of {}", total.unwrap_or(0)));
    }
    let samples: BTreeSet<_> = log.entries.iter().map(|entry| entry.qsl_idx).collect();
    if run.kind == RunKind::Accuracy && samples.len() < log.entries.len() {
        wrong.push("answers a sample twice, and an accuracy run issues each once".into());
    }
    let is_all = log.is_whole && run.kind == RunKind::Accuracy;
    let issued = run.result().filter(|record| record.has_comparable_answers());
    let issued = issued.map(|record| record.samples.issued).filter(|_| is_all);
    let count = log.entries.len() as u64;
    if let Some(issued) = issued.filter(|issued| *issued != count) {
        wrong.push(format!("has {count} entries, and {issued} samples were issued"));
    }
    wrong
}
