//! `audit.config`: the settings that make LoadGen run a compliance test.

use super::{part::STRICTER_SUFFIX, test06};
use crate::{
    Scenario,
    book::{Benchmark, Test},
    facts::official_log::Summary,
};

/// Returns the settings with which LoadGen runs the test: the name of each setting in LoadGen's
/// logs, and its value.
pub(crate) fn test_settings(test: Test, benchmark: &Benchmark) -> Vec<(&'static str, u64)> {
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
    let all = |key: &str, value: u64| format!("*.*.{key} = {value}");
    let settings = [("mode", 2)].into_iter().chain(test_settings(test, benchmark));
    if test == Test::Test04 {
        for scenario in Scenario::ALL.map(Scenario::official_name) {
            let line = |(key, value)| format!("*.{scenario}.{key} = {value}");
            lines.extend(settings.clone().map(line));
        }
        lines.push("stable-diffusion-xl.Offline.min_query_count = 500".into());
    } else {
        lines.extend(settings.map(|(key, value)| all(key, value)));
    }
    if test == Test::Test06 {
        lines.extend(
            [
                ("min_query_count", test06::RESPONSES),
                ("min_duration", 0),
                ("sample_concatenate_permutation", 0),
            ]
            .map(|(key, value)| all(key, value)),
        );
    }
    lines.join("\n") + "\n"
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
    }
}
