//! LoadGen's settings in effect are those that were requested, as `test_settings_internal.cc` makes the ones of the others: of N32,
//! but for the seeds (N31) and the latency bound (N2).

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{self, N2, N31, N32},
    Scenario,
    official_log::DetailLog,
};

/// LoadGen logs numbers with six digits.
const DIGITS: f64 = 1e-5;

/// Settings that take effect as they were requested.
const ALWAYS: [(Rule, &str); 16] = [
    (N32, "scenario"),
    (N32, "test_mode"),
    (N32, "min_duration_ms"),
    (N32, "max_duration_ms"),
    (N32, "max_query_count"),
    (N31, "qsl_rng_seed"),
    (N31, "sample_index_rng_seed"),
    (N31, "schedule_rng_seed"),
    (N32, "accuracy_log_rng_seed"),
    (N32, "accuracy_log_probability"),
    (N32, "accuracy_log_sampling_target"),
    (N32, "print_timestamps"),
    (N32, "performance_issue_unique"),
    (N32, "performance_issue_same"),
    (N32, "performance_issue_same_index"),
    (N32, "sample_concatenate_permutation"),
];

/// Settings in effect in Server, each with the one that was requested.
const SERVER: [(Rule, &str, &str); 5] = [
    (N32, "target_qps", "server_target_qps"),
    (N2, "target_latency_ns", "server_target_latency_ns"),
    (N32, "target_latency_percentile", "server_target_latency_percentile"),
    (N32, "max_async_queries", "server_max_async_queries"),
    (N32, "min_query_count", "min_query_count"),
];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        // Of several entries of a key N33 says that there are several.
        if detail.repeated().next().is_some() {
            continue;
        }
        let mut wrong = as_requested(detail);
        wrong.extend(derived(detail, run.is_token_test()));
        for (rule, text) in wrong {
            found.fail(rule, &run.place, format!("{text}: submit the log as LoadGen wrote it"));
        }
    }
}

/// A setting as a number, or as the text of one that is not.
fn number(detail: &DetailLog, key: &str) -> Option<f64> {
    let value = detail.value(key)?;
    value.as_f64().or_else(|| value.as_bool().map(f64::from))
}

fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= one.abs().max(other.abs()) * DIGITS
}

/// Settings of two names that differ.
fn as_requested(detail: &DetailLog) -> Vec<(Rule, String)> {
    let same_name = ALWAYS.map(|(rule, name)| (rule, name, name));
    let of_server = SERVER.iter().filter(|_| detail.scenario() == Some(Scenario::Server));
    let offline = (N32, "target_qps", "offline_expected_qps");
    let of_offline = Some(offline).filter(|_| detail.scenario() == Some(Scenario::Offline));
    let pairs = same_name.iter().chain(of_server).copied().chain(of_offline);
    let differ = pairs.filter_map(|(rule, effective, requested)| {
        let [effective, requested] =
            [format!("effective_{effective}"), format!("requested_{requested}")];
        let (took, asked) = (detail.value(&effective)?, detail.value(&requested)?);
        let is_alike = match (took.as_u64(), asked.as_u64()) {
            // Seeds have more digits than a floating-point number.
            (Some(took), Some(asked)) => took == asked,
            _ => match (number(detail, &effective), number(detail, &requested)) {
                (Some(took), Some(asked)) => is_same(took, asked),
                _ => took == asked,
            },
        };
        (!is_alike).then(|| (rule, format!("{effective} is {took}, and {requested} {asked}")))
    });
    differ.collect()
}

/// Settings that LoadGen computes from others.
fn derived(detail: &DetailLog, is_token_test: bool) -> Vec<(Rule, String)> {
    let of = |key: &str| number(detail, key);
    let mut wrong = Vec::new();
    let mut equal = |key: &str, wanted: Option<f64>, from: &str| {
        if let Some((is, wanted)) =
            of(key).zip(wanted).filter(|(is, wanted)| !is_same(*is, *wanted))
        {
            wrong.push((N32, format!("{key} is {is}, and by {from} it is {wanted}")));
        }
    };
    let (queries, samples) = ("effective_min_query_count", "effective_samples_per_query");
    let product = of(queries).zip(of(samples)).map(|(queries, samples)| queries * samples);
    equal("effective_min_sample_count", product, &format!("{queries} and {samples}"));
    let overridden = of("requested_performance_sample_count_override").filter(|count| *count > 0.0);
    let reported = "qsl_reported_performance_count";
    let (loaded, from) = match overridden {
        Some(count) => (Some(count), "requested_performance_sample_count_override"),
        None => (of(reported), reported),
    };
    equal("effective_performance_sample_count", loaded, from);
    match detail.scenario() {
        Some(Scenario::Server) => {
            let duration = "effective_min_duration_ms";
            equal("effective_target_duration_ms", of(duration), duration);
            equal(samples, Some(1.0), "the scenario");
        }
        Some(Scenario::Offline) => {
            equal(queries, Some(1.0), "the scenario");
            let is_whole = detail.is_on("effective_performance_issue_unique") == Some(true);
            if !is_whole && !is_token_test {
                wrong.extend(offline_samples(detail));
            }
        }
        _ => {}
    }
    wrong
}

/// Offline's query has a tenth more samples than the expected rate gives in the least duration.
fn offline_samples(detail: &DetailLog) -> Option<(Rule, String)> {
    let of = |key: &str| number(detail, key);
    let seconds = of("requested_min_duration_ms")? / 1e3;
    let rate = of("requested_offline_expected_qps")?;
    let least = of("requested_min_query_count")?;
    let wanted = least.max((1.1 * seconds * rate).floor());
    let key = "effective_samples_per_query";
    let is = of(key)?;
    ((is - wanted).abs() > 1.0_f64.max(wanted * DIGITS)).then(|| {
        (
            N32,
            format!(
                "{key} is {is}, and by the rate and the duration that were requested it is {wanted}"
            ),
        )
    })
}
