//! The record says what LoadGen's log says: of N21 the figures, of N2 and N32 the settings that were asked for. What it says of the way
//! to LoadGen is judged in `bindings.rs`, what it counted itself in `bytes.rs`.

use super::{
    checked_folder::{Run, Subject},
    findings::{Findings, listed},
};
use crate::{
    Rule::{N2, N21, N32},
    Scenario,
    book::Seeds,
    judge::user_conf::number,
    official_log::{DetailLog, latencies, metric, token_metric},
    result::{Metric, Mode, RunResult, Verdict},
};

/// LoadGen logs numbers with six digits.
const DIGITS: f64 = 1e-5;

/// Settings that every record has.
const ALWAYS: [&str; 4] =
    ["max_duration_ms", "max_query_count", "min_duration_ms", "min_query_count"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run) in subject.runs() {
        let (Some(record), Some(detail)) = (run.result(), run.detail()) else { continue };
        let mut at = found.at(N21, &run.record_place);
        let wrong = [
            other_metric(record, detail, &record.metric, metric),
            other_metric(record, detail, &record.token_metric, token_metric),
            other_latencies(record, detail),
            other_late(record, detail),
        ];
        at.fail_each(wrong.into_iter().flatten());
        at.or_pass("the record has the figures of LoadGen's log");
        // A run folder does not say whether it is of a test.
        let is_test = run.is_test()
            || (subject.tree.is_none() && record.settings.contains_key("audit_config"));
        for (key, text) in other_settings(run, is_test, record, detail) {
            // How latencies are measured is of the Closed division's rules.
            let rule = if key.ends_with("token_latencies") { N2 } else { N32 };
            found.fail(rule, &run.record_place, text);
        }
    }
}

fn other_metric(
    record: &RunResult,
    detail: &DetailLog,
    said: &Option<Metric>,
    metric: fn(Scenario, &DetailLog) -> Option<Metric>,
) -> Option<String> {
    let is_measured = record.mode != Mode::Accuracy && record.verdict != Verdict::Failed;
    let logged = is_measured.then(|| metric(record.scenario, detail)).flatten();
    let is_same = match (said, &logged) {
        (None, None) => true,
        (Some(said), Some(logged)) => {
            (said.value - logged.value).abs() <= logged.value.abs() * 1e-9
                && (&said.name, &said.unit) == (&logged.name, &logged.unit)
        }
        _ => false,
    };
    let words = |metric: &Option<Metric>| match metric {
        Some(Metric { name, value, unit }) => format!("{value} {unit} ({name})"),
        None => "nothing".into(),
    };
    (!is_same).then(|| {
        format!(
            "result.json has {}, LoadGen's log {}: take the record as the run wrote it",
            words(said),
            words(&logged)
        )
    })
}

fn other_latencies(record: &RunResult, detail: &DetailLog) -> Option<String> {
    let (said, logged) = (&record.loadgen_latency_ns, latencies(detail));
    let names = said.keys().chain(logged.keys().filter(|name| !said.contains_key(*name)));
    let differ = names.filter(|name| said.get(*name) != logged.get(*name)).collect::<Vec<_>>();
    (!differ.is_empty()).then(|| {
        format!(
            "loadgen_latency_ns is not what LoadGen's log has for {}: take the record as the run wrote it",
            listed(&differ)
        )
    })
}

fn other_late(record: &RunResult, detail: &DetailLog) -> Option<String> {
    let is_counted = record.mode == Mode::Performance;
    let logged = is_counted.then(|| detail.integer("result_overlatency_query_count")).flatten();
    let words = |late: Option<u64>| late.map_or_else(|| "nothing".into(), |late| late.to_string());
    (record.samples.late != logged).then(|| {
        format!(
            "late is {}, and result_overlatency_query_count in LoadGen's log is {}: take the record as the run wrote it",
            words(record.samples.late),
            words(logged)
        )
    })
}

/// What LoadGen was asked for. An audit.config changes some of it after the record was filled.
fn other_settings<'d>(
    run: &Run,
    is_test: bool,
    record: &RunResult,
    detail: &'d DetailLog,
) -> Vec<(&'d str, String)> {
    let is_changed = |name: &str| {
        let of_samples = ["performance_issue_", "accuracy_log_"];
        let of_tokens = ["min_query_count", "min_duration_ms", "sample_concatenate_permutation"];
        (is_test && of_samples.iter().any(|start| name.starts_with(start)))
            || (run.is_token_test() && of_tokens.contains(&name))
    };
    let mut wrong = Vec::new();
    for (key, value) in detail.starting_with("requested_") {
        let name = key.trim_start_matches("requested_");
        let logged = value.as_bool().map_or_else(|| value.as_f64(), |on| Some(f64::from(on)));
        // Seeds and the duration are bound to the log where they are judged.
        let is_bound = name == "min_duration_ms" || Seeds::SETTINGS.contains(&name);
        let Some(logged) = logged.filter(|_| !is_changed(name)) else { continue };
        let said = record.test_settings.get(name);
        let what = match said {
            None if ALWAYS.contains(&name) => "nothing".to_owned(),
            Some(said) if !is_bound && !number(said).is_some_and(|said| is_same(said, logged)) => {
                said.clone()
            }
            _ => continue,
        };
        let text = format!(
            "the log's {key} is {value}, test_settings has {what}: take the record as the run wrote it"
        );
        wrong.push((key, text));
    }
    wrong
}

fn is_same(said: f64, logged: f64) -> bool {
    (said - logged).abs() <= logged.abs() * DIGITS
}
