//! Compares the responses in LoadGen's accuracy logs with the run: their number, their sequence
//! numbers, the samples that they answer, and the scenario.

use std::collections::BTreeSet;

use crate::{
    Scenario,
    official_log::{
        DetailLog,
        readable_entries::{ReadableEntry, ReadableLog},
    },
    subject::{Findings, ResultEntry, RunFiles, RunKind, Subject},
    tree::ACCURACY_LOG,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        let Some(log) = subject.read_answers(entry, run) else { continue };
        // A result of the edge suite may have the logs of another scenario.
        let stated = entry.scenario.filter(|_| !subject.is_of_edge(entry));
        let scenario = run.detail().and_then(DetailLog::scenario).or(stated);
        let other = scenario.and_then(|scenario| of_other_scenario(scenario, &log));
        for text in miscounted(entry, run, &log).into_iter().chain(other) {
            let text = format!("{ACCURACY_LOG} {text}: submit the log as LoadGen wrote it");
            found.fail(entry.answers_place(run), text);
        }
    }
}

/// Returns a finding if LoadGen wrote the log in another scenario: in Offline it does not log first
/// tokens.
fn of_other_scenario(scenario: Scenario, log: &ReadableLog) -> Option<String> {
    let wanted = scenario != Scenario::Offline;
    let is_other =
        |entry: &&ReadableEntry| entry.token_count.is_some() && entry.has_first_token != wanted;
    let ReadableEntry { seq_id, .. } = log.entries.iter().find(is_other)?;
    let (has, logs) = if wanted { ("no ", "logs it") } else { ("", "does not log it") };
    let scenario = scenario.official_name();
    Some(format!("has {has}token_data at seq_id {seq_id}, and LoadGen {logs} in {scenario}"))
}

fn miscounted(entry: &ResultEntry, run: &RunFiles, log: &ReadableLog) -> Vec<String> {
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
    let logged = |run: &RunFiles| run.detail()?.integer("qsl_reported_total_count");
    // TEST06 may have no other log, and has the data set of the performance run.
    let of_performance = || logged(entry.run(RunKind::Performance)?);
    let total = logged(run).or(recorded).or_else(of_performance);
    let total = total.filter(|total| recorded.is_none_or(|recorded| recorded == *total));
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
