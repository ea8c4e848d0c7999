//! `audit.config`: the settings that make LoadGen run a compliance test.

use std::fmt::Display;

use super::{part::STRICTER_SUFFIX, test06};
use crate::{
    Scenario,
    book::{AccuracyTest, Benchmark, LengthTest, Test},
    facts::official_log::{DetailLog, Summary},
};

/// Returns the settings with which LoadGen runs the test: the name of each setting in LoadGen's
/// logs, and its value.
fn test_settings(test: Test, benchmark: &Benchmark) -> Vec<(&'static str, u64)> {
    let sampling = match (test, benchmark.sampling) {
        (Test::Test04, _) => {
            // LoadGen issues a single sample again and again.
            return vec![
                ("performance_issue_unique", 0),
                ("performance_issue_same", 1),
                ("performance_issue_same_index", 3),
            ];
        }
        (Test::Test06, _) => test06::RESPONSES,
        (Test::Test07, _) => benchmark.test_samples(test).unwrap_or(0),
        // More than any data set has, so that LoadGen logs all responses.
        (Test::Test09, _) => 10_000,
        // The benchmark no longer needs the test; its official file has the usual number.
        (Test::Test01, 0) => 4096,
        (Test::Test01, sampling) => sampling.into(),
    };
    // Seed with which LoadGen selects the responses to log.
    vec![
        ("accuracy_log_rng_seed", 720_381_539_243_781_796),
        ("accuracy_log_sampling_target", sampling),
    ]
}

/// Returns the text of `audit.config`, with the keys and values of the official file for this test
/// and benchmark.
///
/// LoadGen applies the file to any model. TEST04's line for Stable Diffusion XL therefore has no
/// effect. With it, the official checker would reject the run for too few samples.
pub fn audit_config(test: Test, benchmark: &Benchmark) -> String {
    let mut lines = vec![
        format!("# {test} for {}: LoadGen's audit.config for one performance run.", benchmark.name),
        "# It overrides user.conf; remove it after that run.".into(),
    ];
    let all = |key: &str, value: &dyn Display| format!("*.*.{key} = {value}");
    let settings = [("mode", 2)].into_iter().chain(test_settings(test, benchmark));
    if test == Test::Test04 {
        for scenario in Scenario::ALL.map(Scenario::official_name) {
            let line = |(key, value)| format!("*.{scenario}.{key} = {value}");
            lines.extend(settings.clone().map(line));
        }
        lines.push("stable-diffusion-xl.Offline.min_query_count = 500".into());
    } else {
        lines.extend(settings.map(|(key, value)| all(key, &value)));
    }
    let own = benchmark.test_samples(test);
    if let Some(queries) = own.or((test == Test::Test06).then_some(test06::RESPONSES)) {
        lines.extend([all("min_query_count", &queries), all("min_duration", &0)]);
        lines.extend(own.map(|_| all("performance_issue_unique", &1)));
        lines.push(all("sample_concatenate_permutation", &0));
    }
    // LoadGen ignores the bounds, which the official scripts read.
    match (test, &benchmark.test07, &benchmark.test09) {
        (Test::Test07, Some(AccuracyTest { least, .. }), _) => {
            lines.push(all("test07_accuracy_threshold", least));
        }
        (Test::Test09, _, Some(LengthTest { least, most })) => {
            let bounds = [("min", least), ("max", most)];
            lines.extend(
                bounds.map(|(end, value)| all(&format!("test09_{end}_output_tokens"), value)),
            );
        }
        _ => {}
    }
    lines.join("\n") + "\n"
}

/// Returns the settings of the test that a run did not have, by its detail log, each with both
/// values.
pub(crate) fn other_settings(test: Test, benchmark: &Benchmark, detail: &DetailLog) -> Vec<String> {
    let other = |(setting, want): (&str, u64)| {
        let key = format!("effective_{setting}");
        let value = whole_number(detail, &key);
        let words = || value.map_or_else(|| "missing".into(), |value| value.to_string());
        (value != Some(want)).then(|| format!("{key} is {}, not {want}", words()))
    };
    test_settings(test, benchmark).into_iter().filter_map(other).collect()
}

/// Returns the log's value under a key as a whole number, with 1 for true and 0 for false.
fn whole_number(detail: &DetailLog, key: &str) -> Option<u64> {
    let value = detail.value(key)?;
    value.as_u64().or_else(|| value.as_bool().map(u64::from))
}

/// Checks in `run`, LoadGen's summary, that the run used the settings of the test.
pub(super) fn in_effect(test: Test, benchmark: &Benchmark, run: &Summary) -> Result<(), String> {
    let mut wanted = test_settings(test, benchmark);
    // The sampling target does not identify the test: only the log must have enough responses.
    wanted.retain(|(key, _)| *key != "accuracy_log_sampling_target");
    let unlike = |(key, value): &&(&str, u64)| run.value(key) != Some(value.to_string().as_str());
    match wanted.iter().find(unlike) {
        None => Ok(()),
        Some((key, value)) => Err(format!(
            "`{key}` is not {value}: this run was not made with the audit.config of {test}; repeat the run {STRICTER_SUFFIX}"
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::book::Table;

    fn settings(test: Test, benchmark: &str) -> Vec<String> {
        let text = audit_config(test, Table::builtin().unwrap().find(benchmark).unwrap());
        text.lines().filter(|line| !line.starts_with('#')).map(Into::into).collect()
    }

    #[test]
    fn settings_are_those_of_the_official_files() {
        for (benchmark, target) in [
            ("resnet50", 4096),
            ("retinanet", 256),
            ("3d-unet-99.9", 64),
            ("bert-99", 4096),
            ("dlrm-v2-99", 4096),
            ("stable-diffusion-xl", 128),
            ("rgat", 4096),
            ("gptj-99", 4096),
        ] {
            let target = format!("*.*.accuracy_log_sampling_target = {target}");
            let seed = "*.*.accuracy_log_rng_seed = 720381539243781796";
            assert_eq!(settings(Test::Test01, benchmark), ["*.*.mode = 2", seed, &target]);
        }
        let same = settings(Test::Test04, "resnet50");
        assert_eq!(same.len(), 17);
        assert_eq!(same[3], "*.Offline.performance_issue_same_index = 3");
        assert_eq!(same[16], "stable-diffusion-xl.Offline.min_query_count = 500");
        let tokens = settings(Test::Test06, "llama2-70b-99");
        assert_eq!(tokens.len(), 6);
        assert_eq!(tokens[2], "*.*.accuracy_log_sampling_target = 100");
        assert_eq!(tokens[5], "*.*.sample_concatenate_permutation = 0");
        // Lines of the official files, in their order.
        for (test, own) in [
            (
                Test::Test07,
                "accuracy_log_sampling_target = 990
min_query_count = 990
min_duration = 0
performance_issue_unique = 1
sample_concatenate_permutation = 0
test07_accuracy_threshold = 60.698",
            ),
            (
                Test::Test09,
                "accuracy_log_sampling_target = 10000
min_query_count = 6396
min_duration = 0
performance_issue_unique = 1
sample_concatenate_permutation = 0
test09_min_output_tokens = 1150.38
test09_max_output_tokens = 1406.02",
            ),
        ] {
            let want = "mode = 2\naccuracy_log_rng_seed = 720381539243781796\n".to_owned() + own;
            let want: Vec<_> = want.lines().map(|line| format!("*.*.{line}")).collect();
            for benchmark in ["gpt-oss-120b", "gpt-oss-120b-interactive"] {
                assert_eq!(settings(test, benchmark), want);
            }
        }
    }
}
