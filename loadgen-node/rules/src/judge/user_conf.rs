//! Comparison of LoadGen's `user.conf` in a submission with the run's settings, for N2.

use std::collections::BTreeMap;

use crate::{Scenario, user_conf::check_line};

/// A key of user.conf: the field of TestSettings that it sets, and the factor for its value.
pub(crate) struct UserConfKey {
    pub(crate) name: &'static str,
    pub(crate) field: &'static str,
    pub(crate) factor: f64,
    /// LoadGen's default, for a setting that mlperf.conf never sets.
    pub(crate) default: Option<f64>,
}

const fn key(name: &'static str, field: &'static str, factor: f64) -> UserConfKey {
    UserConfKey { name, field, factor, default: None }
}

/// Creates a key that LoadGen's own mlperf.conf never sets.
const fn user_conf_only(name: &'static str, field: &'static str, default: f64) -> UserConfKey {
    UserConfKey { name, field, factor: 1.0, default: Some(default) }
}

const ALL: [UserConfKey; 15] = [
    key("min_duration", "min_duration_ms", 1.0),
    user_conf_only("max_duration", "max_duration_ms", 0.0),
    key("min_query_count", "min_query_count", 1.0),
    user_conf_only("max_query_count", "max_query_count", 0.0),
    user_conf_only("performance_issue_unique", "performance_issue_unique", 0.0),
    user_conf_only("performance_issue_same", "performance_issue_same", 0.0),
    user_conf_only("performance_issue_same_index", "performance_issue_same_index", 0.0),
    user_conf_only("print_timestamps", "print_timestamps", 0.0),
    user_conf_only("accuracy_log_rng_seed", "accuracy_log_rng_seed", 0.0),
    user_conf_only("accuracy_log_sampling_target", "accuracy_log_sampling_target", 0.0),
    key("performance_sample_count_override", "performance_sample_count_override", 1.0),
    key("accuracy_sample_count_override", "accuracy_sample_count_override", 1.0),
    key("sample_concatenate_permutation", "sample_concatenate_permutation", 1.0),
    key("use_token_latencies", "use_token_latencies", 1.0),
    key("infer_token_latencies", "infer_token_latencies", 1.0),
];
const OFFLINE: [UserConfKey; 1] = [user_conf_only("target_qps", "offline_expected_qps", 1.0)];
const SERVER: [UserConfKey; 5] = [
    user_conf_only("target_qps", "server_target_qps", 1.0),
    key("target_latency", "server_target_latency_ns", 1e6),
    key("target_latency_percentile", "server_target_latency_percentile", 0.01),
    user_conf_only("coalesce_queries", "server_coalesce_queries", 0.0),
    user_conf_only("max_async_queries", "server_max_async_queries", 0.0),
];
const SINGLE_STREAM: [UserConfKey; 2] = [
    key("target_latency", "single_stream_expected_latency_ns", 1e6),
    key("target_latency_percentile", "single_stream_target_latency_percentile", 0.01),
];
const MULTI_STREAM: [UserConfKey; 3] = [
    key("target_latency", "multi_stream_expected_latency_ns", 1e6),
    key("target_latency_percentile", "multi_stream_target_latency_percentile", 0.01),
    key("samples_per_query", "multi_stream_samples_per_query", 1.0),
];

/// Returns the keys that LoadGen reads in a scenario.
pub(crate) fn keys(scenario: Scenario) -> impl Iterator<Item = &'static UserConfKey> {
    let own: &[UserConfKey] = match scenario {
        Scenario::Offline => &OFFLINE,
        Scenario::Server => &SERVER,
        Scenario::SingleStream => &SINGLE_STREAM,
        Scenario::MultiStream => &MULTI_STREAM,
    };
    own.iter().chain(&ALL)
}

/// Parses a value of TestSettings or of user.conf: a number, `true` or `false`.
pub(crate) fn number(text: &str) -> Option<f64> {
    match text {
        "true" => Some(1.0),
        "false" => Some(0.0),
        number => number.parse().ok(),
    }
}

/// Returns the differences between the text of a `user.conf` and a run's settings: first the lines
/// that LoadGen would misread, each with the reason, then the names of keys with other values.
/// `given` contains the fields that the run set explicitly, as `FIELD=VALUE`. `model` is LoadGen's
/// name of the benchmark.
pub(crate) fn differences(
    file: &str,
    settings: &BTreeMap<String, String>,
    given: &[&str],
    model: &str,
    scenario: Scenario,
) -> Vec<String> {
    let lines: BTreeMap<_, _> = file
        .lines()
        .filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [key, "=", value] if !key.starts_with('#') => Some((key, value)),
            _ => None,
        })
        .collect();
    let name = scenario.official_name();
    let differs = |key: &&UserConfKey| {
        // Model and scenario in the name of a key, in LoadGen's order of precedence.
        let places = [(model, name), ("*", name), (model, "*"), ("*", "*")];
        let mut said = places.iter().filter_map(|(model, scenario)| {
            lines.get(format!("{model}.{scenario}.{}", key.name).as_str())
        });
        let said = said.next().and_then(|value| number(value)).map(|value| value * key.factor);
        let is_given = given.iter().any(|pair| pair.split('=').next() == Some(key.field));
        let said = said.or(key.default.filter(|_| !is_given));
        let run = settings.get(key.field).and_then(|value| number(value));
        match (said, run) {
            (Some(said), Some(run)) => (said - run).abs() > 1e-6 * run.abs().max(1e-3),
            _ => false,
        }
    };
    let misread = file
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| Some(format!("line {number}: {}", check_line(line).err()?)));
    misread.chain(keys(scenario).filter(differs).map(|key| key.name.to_owned())).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::user_conf::is_read_in;

    pub(crate) fn settings() -> BTreeMap<String, String> {
        [
            ("server_target_qps", "18000.500000"),
            ("server_target_latency_ns", "15000000"),
            ("server_target_latency_percentile", "0.990000"),
            ("server_coalesce_queries", "false"),
            ("min_duration_ms", "600000"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    #[test]
    fn a_file_that_says_something_else_is_seen() {
        let unlike = |text: &str| {
            differences(
                text,
                &settings(),
                &["server_target_qps=18000.5"],
                "resnet50",
                Scenario::Server,
            )
        };
        assert_eq!(unlike("*.Server.target_qps = 17000\n"), ["target_qps"]);
        // The most specific line counts, and other models and scenarios do not.
        assert!(unlike("*.*.min_duration = 1\n*.Server.min_duration = 600000\n").is_empty());
        assert!(unlike("gptj.Server.target_qps = 1\nresnet50.Offline.target_qps = 1\n").is_empty());
        assert!(unlike("resnet50.Server.target_qps=18000.5\n")[0].starts_with("line 1: "));
        let todo = unlike("\nresnet50.Offline.target_qps = TODO\n");
        assert!(
            todo[0].starts_with("line 2: target_qps is still TODO: write the queries"),
            "{todo:?}"
        );
        // LoadGen uses the last of several lines, and its default if there is no line.
        let twice = "*.Server.target_qps = 18000.5\n*.Server.target_qps = 1\n";
        assert_eq!(unlike(twice), ["target_qps"]);
        let none = differences("# none\n", &settings(), &[], "resnet50", Scenario::Server);
        assert_eq!(none, ["target_qps"]);
    }

    #[test]
    fn keys_are_those_that_loadgen_reads_in_the_scenario() {
        let known = |scenario| keys(scenario).map(|key| key.name);
        for name in Scenario::ALL.into_iter().flat_map(known) {
            for scenario in Scenario::ALL {
                let is_read = is_read_in(name, scenario.official_name());
                assert_eq!(is_read, known(scenario).any(|key| key == name), "{name} in {scenario}");
            }
        }
    }
}
