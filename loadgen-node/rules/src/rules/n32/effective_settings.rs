//! Compares LoadGen's effective settings with the values that it derives from the requested
//! settings (`test_settings_internal.cc`).

use crate::{
    Scenario,
    official_log::DetailLog,
    rules::agreement::{DIGITS, equals_logged, number},
    subject::{Findings, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        // N33 finds a key with several entries.
        if detail.repeated().next().is_some() {
            continue;
        }
        for text in derived(detail, run.is_token_test()) {
            found.fail(&run.place, format!("{text}: submit the log as LoadGen wrote it"));
        }
    }
}

/// Returns findings about effective settings that differ from the values that LoadGen computes from
/// other settings.
fn derived(detail: &DetailLog, is_token_test: bool) -> Vec<String> {
    let of = |key: &str| number(detail, key);
    let mut wrong = Vec::new();
    let mut equal = |key: &str, wanted: Option<f64>, from: &str| {
        if let Some((is, wanted)) =
            of(key).zip(wanted).filter(|(is, wanted)| !equals_logged(*is, *wanted))
        {
            wrong.push(format!("{key} is {is}, and by {from} it is {wanted}"));
        }
    };
    let (queries, samples) = ("effective_min_query_count", "effective_samples_per_query");
    let product = of(queries).zip(of(samples)).map(|(queries, samples)| queries * samples);
    equal("effective_min_sample_count", product, &format!("{queries} and {samples}"));
    for (key, overridden, reported) in [
        (
            "effective_performance_sample_count",
            "requested_performance_sample_count_override",
            "qsl_reported_performance_count",
        ),
        (
            "effective_accuracy_sample_count",
            "requested_accuracy_sample_count_override",
            "qsl_reported_total_count",
        ),
    ] {
        let is_set = of(overridden).is_some_and(|count| count > 0.0);
        let from = if is_set { overridden } else { reported };
        equal(key, of(from), from);
    }
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

/// Returns a finding if Offline's query does not have the number of samples that LoadGen computes:
/// 10 % more than the expected rate gives in the minimum duration, and at least the minimum number
/// of queries.
fn offline_samples(detail: &DetailLog) -> Option<String> {
    let of = |key: &str| number(detail, key);
    let seconds = of("requested_min_duration_ms")? / 1e3;
    let rate = of("requested_offline_expected_qps")?;
    let least = of("requested_min_query_count")?;
    let wanted = least.max((1.1 * seconds * rate).floor());
    let key = "effective_samples_per_query";
    let is = of(key)?;
    ((is - wanted).abs() > 1.0_f64.max(wanted * DIGITS)).then(|| {
        format!(
            "{key} is {is}, and by the rate and the duration that were requested it is {wanted}"
        )
    })
}
