//! LoadGen's figures in its detail log, and the part of a record that they make.

use std::collections::BTreeMap;

use netdiv_node_common::words::Mode;

use super::DetailLog;
use crate::{
    Scenario,
    record::{Metric, RunResult, Verdict},
};

impl DetailLog {
    /// Samples per second; `None` for the streams, whose metric is a latency.
    pub(crate) fn throughput(&self, scenario: Scenario) -> Option<f64> {
        match scenario {
            Scenario::Offline | Scenario::Server => Some(metric(scenario, self)?.value),
            Scenario::SingleStream | Scenario::MultiStream => None,
        }
    }
}

/// Sets the part of a record that LoadGen's log makes: metrics, latencies, late queries, and the
/// name of the SUT. A run writes its record by it, and `check` compares the record with it. Mode,
/// scenario and verdict of the record decide which figures there are.
pub fn set_figures(record: &mut RunResult, log: &DetailLog) {
    let is_measured = record.mode != Mode::Accuracy && record.verdict != Verdict::Failed;
    let scenario = Some(record.scenario).filter(|_| is_measured);
    record.metric = scenario.and_then(|scenario| metric(scenario, log));
    record.token_metric = scenario.and_then(|scenario| token_metric(scenario, log));
    record.loadgen_latency_ns = latencies(log);
    let late = log.integer("result_overlatency_query_count");
    record.samples.late = late.filter(|_| record.mode == Mode::Performance);
    record.sut_name = log.text("sut_name").map(Into::into);
    record.get_sut_name_duration_ns = log.integer("get_sut_name_duration_ns");
}

/// Returns LoadGen's metric of the scenario (rules, section 3). For the streams it is the
/// early-stopping estimate of the percentile (Appendix A), as in the official checker, or the
/// measured percentile if there is no estimate.
pub fn metric(scenario: Scenario, log: &DetailLog) -> Option<Metric> {
    let choices: &[(&str, &str, &str)] = match scenario {
        Scenario::Offline => &[("result_samples_per_second", "samples per second", "samples/s")],
        Scenario::Server => {
            &[("result_completed_samples_per_sec", "completed samples per second", "samples/s")]
        }
        Scenario::SingleStream => &[
            ("early_stopping_latency_ss", "90th percentile latency, early-stopping estimate", "ns"),
            ("result_90.00_percentile_latency_ns", "90th percentile latency, as measured", "ns"),
        ],
        Scenario::MultiStream => &[
            (
                "early_stopping_latency_ms",
                "99th percentile query latency, early-stopping estimate",
                "ns",
            ),
            (
                "result_99.00_percentile_per_query_latency_ns",
                "99th percentile query latency, as measured",
                "ns",
            ),
        ],
    };
    choices.iter().find_map(|(key, name, unit)| {
        let value = log.number(key).filter(|value| *value > 0.0)?;
        Some(Metric { name: (*name).into(), value, unit: (*unit).into() })
    })
}

/// Returns LoadGen's tokens per second, if LoadGen counts or infers tokens; `None` in the streams.
pub fn token_metric(scenario: Scenario, log: &DetailLog) -> Option<Metric> {
    let choices = match scenario {
        Scenario::Offline => [
            ("result_tokens_per_second", "tokens per second"),
            ("result_inferred_tokens_per_second", "inferred tokens per second"),
        ],
        Scenario::Server => [
            ("result_completed_tokens_per_second", "completed tokens per second"),
            ("result_inferred_completed_tokens_per_second", "inferred completed tokens per second"),
        ],
        Scenario::SingleStream | Scenario::MultiStream => return None,
    };
    choices.into_iter().find_map(|(key, name)| {
        let value = log.number(key).filter(|value| *value > 0.0)?;
        Some(Metric { name: name.into(), value, unit: "tokens/s".into() })
    })
}

/// Prefixes of the keys with the time for each token after the first. Releases up to v5.1 log keys
/// with both prefixes.
const FURTHER_TOKENS: [&str; 2] = ["result_time_per_output_token_", "result_time_to_output_token_"];

/// Returns LoadGen's latencies by name, in nanoseconds: `result_mean_latency_ns` becomes `mean`,
/// `result_first_token_max_latency_ns` becomes `first_token_max`, and
/// `result_time_to_output_token_mean` becomes `further_token_mean`.
pub fn latencies(log: &DetailLog) -> BTreeMap<String, f64> {
    let name = |key: &str| {
        let further = FURTHER_TOKENS.iter().find_map(|start| key.strip_prefix(start));
        let name = match further {
            Some(statistic) => format!("further_token_{}", statistic.trim_end_matches("_ns")),
            None => key.strip_prefix("result_")?.strip_suffix("latency_ns")?.to_owned(),
        };
        Some(name.trim_end_matches('_').replace("_percentile", ""))
    };
    log.numbers("result_").filter_map(|(key, value)| Some((name(key)?, value))).collect()
}

/// Returns the time that LoadGen compares with the minimum duration, in seconds: in Offline the
/// maximum latency, in Server the scheduled time of the last query, and in SingleStream the time of
/// all queries but the last. Returns `None` in MultiStream. LoadGen logs rates with six digits.
pub(crate) fn test_duration(scenario: Scenario, log: &DetailLog) -> Option<f64> {
    match scenario {
        Scenario::Offline => max_latency(log),
        Scenario::Server => until_last("result_scheduled_samples_per_sec", log),
        Scenario::SingleStream => until_last("result_qps_with_loadgen_overhead", log),
        Scenario::MultiStream => None,
    }
}

/// Returns the time of all queries but the last, in seconds, computed from a rate: LoadGen computes
/// its rates over this time. `rate` is the key of the rate.
fn until_last(rate: &str, log: &DetailLog) -> Option<f64> {
    let rate = log.number(rate).filter(|rate| *rate > 0.0)?;
    Some((log.number("result_query_count")? - 1.0) / rate)
}

/// Returns the maximum latency of a sample, in seconds.
pub(crate) fn max_latency(log: &DetailLog) -> Option<f64> {
    log.number("result_max_latency_ns").map(|ns| ns / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(key: &str) -> DetailLog {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!(":::MLLOG {{\"key\": \"{key}\", \"value\": 7.5}}\n"))
            .unwrap();
        DetailLog::read(file.path()).unwrap()
    }

    #[test]
    fn a_latency_is_no_throughput() {
        let server = log("result_completed_samples_per_sec");
        assert_eq!(server.throughput(Scenario::Server), Some(7.5));
        assert_eq!(log("result_samples_per_second").throughput(Scenario::Offline), Some(7.5));
        for (scenario, key) in [
            (Scenario::SingleStream, "early_stopping_latency_ss"),
            (Scenario::MultiStream, "early_stopping_latency_ms"),
        ] {
            assert_eq!(log(key).throughput(scenario), None);
            assert_eq!(metric(scenario, &log(key)).unwrap().value, 7.5);
        }
    }

    #[test]
    fn tokens_are_counted_or_inferred() {
        for (scenario, key, name) in [
            (Scenario::Offline, "result_tokens_per_second", "tokens per second"),
            (
                Scenario::Server,
                "result_inferred_completed_tokens_per_second",
                "inferred completed tokens per second",
            ),
        ] {
            let metric = token_metric(scenario, &log(key)).unwrap();
            assert_eq!((metric.name.as_str(), metric.value), (name, 7.5));
            assert!(token_metric(Scenario::SingleStream, &log(key)).is_none());
        }
    }
}
