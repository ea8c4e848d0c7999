//! Requires every figure that LoadGen writes in a test of the log's mode and scenario. A missing
//! figure would escape all comparisons.

use netdiv_node_common::words::Mode;
use serde_json::Value;

use crate::{
    Scenario,
    official_log::DetailLog,
    subject::{Findings, Subject},
};

/// Keys that the log of every test has, in any mode. All 6,056 logs of rounds v2.1 to v6.0 that
/// were examined have them.
const OF_ALL: [&str; 33] = [
    "effective_accuracy_log_probability",
    "effective_accuracy_log_rng_seed",
    "effective_accuracy_log_sampling_target",
    "effective_max_async_queries",
    "effective_max_duration_ms",
    "effective_max_query_count",
    "effective_min_duration_ms",
    "effective_min_query_count",
    "effective_min_sample_count",
    "effective_performance_issue_same",
    "effective_performance_issue_same_index",
    "effective_performance_issue_unique",
    "effective_performance_sample_count",
    "effective_print_timestamps",
    "effective_qsl_rng_seed",
    "effective_sample_index_rng_seed",
    "effective_samples_per_query",
    "effective_schedule_rng_seed",
    "effective_target_latency_ns",
    "effective_target_latency_percentile",
    "effective_target_qps",
    "generated_query_count",
    "generated_query_duration",
    "generated_samples_per_query",
    "get_sut_name_duration_ns",
    "qsl_reported_performance_count",
    "qsl_reported_total_count",
    "requested_min_duration_ms",
    "requested_min_query_count",
    "requested_performance_sample_count_override",
    "requested_qsl_rng_seed",
    "requested_sample_index_rng_seed",
    "requested_schedule_rng_seed",
];

/// Further keys that the log of every test has since LoadGen 6.0.6.
const SINCE_6_0_6: [&str; 2] =
    ["effective_accuracy_sample_count", "requested_accuracy_sample_count_override"];

/// Further keys that the log of a performance test has, in any scenario.
const OF_PERFORMANCE: [&str; 13] = [
    "early_stopping_met",
    "result_50.00_percentile_latency_ns",
    "result_90.00_percentile_latency_ns",
    "result_95.00_percentile_latency_ns",
    "result_97.00_percentile_latency_ns",
    "result_99.00_percentile_latency_ns",
    "result_99.90_percentile_latency_ns",
    "result_max_latency_ns",
    "result_mean_latency_ns",
    "result_min_duration_met",
    "result_min_latency_ns",
    "result_min_queries_met",
    "result_query_count",
];

const OF_OFFLINE: [&str; 1] = ["result_samples_per_second"];

const OF_SERVER: [&str; 4] = [
    "result_completed_samples_per_sec",
    "result_overlatency_query_count",
    "result_perf_constraints_met",
    "result_scheduled_samples_per_sec",
];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let is_unsaid = |key: &&str| !detail.value(key).is_some_and(is_figure);
        let missing: Vec<_> = expected(detail).filter(is_unsaid).collect();
        if !missing.is_empty() {
            let text = format!(
                "the detail log has no figure for {}: submit the log as LoadGen wrote it",
                missing.join(", ")
            );
            found.fail(&run.place, text);
        }
    }
}

fn is_figure(value: &Value) -> bool {
    // LoadGen writes `nan` for the rate of a single query.
    value.is_number() || value.is_boolean() || value.is_null()
}

/// Returns the keys that a log must have, by its mode, its scenario, and LoadGen's version. A test
/// that LoadGen has not ended has no result, which is another finding.
fn expected(detail: &DetailLog) -> impl Iterator<Item = &'static str> {
    let is_ended = detail.text("result_validity").is_some();
    let (performance, scenario): (&[&str], &[&str]) = match (detail.mode(), detail.scenario()) {
        (Some(Mode::Performance), Some(Scenario::Offline)) if is_ended => {
            (&OF_PERFORMANCE, &OF_OFFLINE)
        }
        (Some(Mode::Performance), Some(Scenario::Server)) if is_ended => {
            (&OF_PERFORMANCE, &OF_SERVER)
        }
        (Some(Mode::Performance), Some(_)) if is_ended => (&OF_PERFORMANCE, &[]),
        _ => (&[], &[]),
    };
    let later: &[&str] = if detail.is_since([6, 0, 6]) { &SINCE_6_0_6 } else { &[] };
    OF_ALL.iter().chain(later).chain(performance).chain(scenario).copied()
}
