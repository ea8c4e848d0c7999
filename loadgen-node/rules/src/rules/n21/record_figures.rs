//! Compares the record's figures with LoadGen's log.

use crate::{
    Scenario,
    official_log::{DetailLog, latencies, metric, token_metric},
    record::{Metric, Mode, RunResult, Verdict},
    subject::{Findings, Subject, list_first},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        let Some(detail) = run.detail() else { continue };
        let mut at = found.at(&run.record_place);
        let wrong = [
            other_metric(record, detail, &record.metric, metric),
            other_metric(record, detail, &record.token_metric, token_metric),
            other_latencies(record, detail),
            other_late(record, detail),
        ];
        at.fail_each(wrong.into_iter().flatten());
        at.or_pass("the record has the figures of LoadGen's log");
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
            "loadgen_latency_ns differs from LoadGen's log in {}: take the record as the run wrote it",
            list_first(&differ)
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
