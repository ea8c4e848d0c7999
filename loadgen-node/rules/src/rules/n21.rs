//! N21: everything outside the LoadGen node is the SUT, and the figures are LoadGen's: summary,
//! detail log and record belong to one test (rules, section 6.2.3).

use std::collections::BTreeSet;

use serde_json::Value;

use super::n16::judge_by_construction;
use crate::{
    Scenario,
    book::{LoadGenSetting, setting_number},
    official_log::{
        DetailLog,
        readable_entries::{ReadableEntry, ReadableLog},
        set_figures,
    },
    record::RunResult,
    subject::{Findings, ResultEntry, RunFiles, RunKind, Subject, list_first, logs::disagreements},
    tree::ACCURACY_LOG,
};

mod counters;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    record(subject, found);
    response_counts(subject, found);
    let claim = "times and verdicts are LoadGen's, taken from its log (facts/official_log)";
    judge_by_construction(claim, subject, found);
    figures(subject, found);
    counters::judge(subject, found);
}

/// Relative tolerance of the settings in LoadGen's log, which have six digits.
const DIGITS: f64 = 1e-5;

/// Compares each record with the one that LoadGen's detail log makes.
fn record(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        let Some(detail) = run.detail() else { continue };
        let mut expected = record.clone();
        set_figures(&mut expected, detail);
        set_choices(&mut expected, run, detail);
        let [said, logged] =
            [record, &expected].map(|record| serde_json::to_value(record).unwrap_or_default());
        let mut differ = Vec::new();
        compare("", &said, &logged, &mut differ);
        let mut at = found.at(&run.record_place);
        if !differ.is_empty() {
            let differ = list_first(&differ);
            at.fail(format!("result.json {differ}: take the record as the run wrote it"));
        }
        at.or_pass("the record has the figures of LoadGen's log");
    }
}

/// Sets the part of a record that the settings of the run make and that LoadGen's log repeats:
/// scenario, mode, size of the data set, LoadGen's version, and its settings. The log also has the
/// settings of an audit.config, which the record of a compliance test lacks.
fn set_choices(record: &mut RunResult, run: &RunFiles, log: &DetailLog) {
    record.scenario = log.scenario().unwrap_or(record.scenario);
    record.mode = log.mode().unwrap_or(record.mode);
    let total = log.integer("qsl_reported_total_count");
    record.dataset_samples = total.unwrap_or(record.dataset_samples);
    if let Some(version) = log.text("loadgen_version") {
        record.versions.loadgen = version.into();
    }
    let is_audited = run.is_test() || record.settings.contains_key("audit_config");
    for (field, said) in &mut record.test_settings {
        let is_changed =
            is_audited && LoadGenSetting::of_field(field).is_some_and(|row| row.audited);
        let logged = log.value(&format!("requested_{field}")).filter(|_| !is_changed);
        if let Some(logged) = logged.filter(|logged| !is_setting(said, logged)) {
            *said = logged.to_string();
        }
    }
}

/// Returns true if a setting in a record has the value that LoadGen logged. Seeds have more digits
/// than a floating-point number.
fn is_setting(said: &str, logged: &Value) -> bool {
    if let (Ok(said), Some(logged)) = (said.parse::<u64>(), logged.as_u64()) {
        return said == logged;
    }
    let logged = logged.as_f64().or_else(|| logged.as_bool().map(f64::from));
    let is_near = |logged: f64| {
        setting_number(said).is_some_and(|said| (said - logged).abs() <= logged.abs() * DIGITS)
    };
    logged.is_none_or(is_near)
}

/// Adds the differences between a record and the one that LoadGen's log makes to `differ`, each
/// with its JSON pointer, which begins with `pointer`.
fn compare(pointer: &str, said: &Value, logged: &Value, differ: &mut Vec<String>) {
    if let (Value::Object(said), Value::Object(logged)) = (said, logged) {
        let names: BTreeSet<_> = said.keys().chain(logged.keys()).collect();
        for name in names {
            let [said, logged] =
                [said, logged].map(|fields| fields.get(name).unwrap_or(&Value::Null));
            compare(&format!("{pointer}/{name}"), said, logged, differ);
        }
        return;
    }
    // A number that was written and read again may differ in its last digit.
    let numbers = said.as_f64().zip(logged.as_f64());
    let is_near =
        numbers.is_some_and(|(said, logged)| (said - logged).abs() <= logged.abs() * 1e-9);
    if said != logged && !is_near {
        let [said, logged] = [said, logged].map(|value| match value {
            Value::Null => "nothing".to_owned(),
            value => value.to_string(),
        });
        differ.push(format!("{pointer}: {said}, LoadGen's log gives {logged}"));
    }
}

/// Compares LoadGen's figures in the detail log with the summary.
fn figures(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let Some(Ok(summary)) = run.logs.as_ref().map(|logs| &logs.summary) else { continue };
        let mut at = found.at(&run.place);
        let differ = disagreements(summary, detail);
        if !differ.is_empty() {
            at.fail(format!("the summary does not belong to this log: {}", differ.join("; ")));
        }
        at.or_pass("the detail log and the summary have the same figures");
    }
}

/// Compares the responses in LoadGen's accuracy logs with the run: their number, their sequence
/// numbers, the samples that they answer, and the scenario.
fn response_counts(subject: &Subject, found: &mut Findings) {
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
