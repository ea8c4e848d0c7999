//! `audit.config`: the settings that make LoadGen run a compliance test.

use super::part::BEYOND;
use crate::{
    Scenario,
    book::{Benchmark, Test},
    facts::official_log::Summary,
};

/// Seed by which LoadGen chooses the responses that it logs.
const SEED: (&str, &str) = ("accuracy_log_rng_seed", "720381539243781796");

/// The same sample over and over.
const SAME_SAMPLE: [(&str, &str); 3] = [
    ("performance_issue_unique", "0"),
    ("performance_issue_same", "1"),
    ("performance_issue_same_index", "3"),
];

/// The text of `audit.config`, with the keys and values of the official file of that test and benchmark.
///
/// LoadGen reads it as the settings of any model. TEST04's line for Stable Diffusion XL therefore has no effect, which
/// is as well: the official checker would not accept so few samples.
pub fn audit_config(test: Test, benchmark: &Benchmark) -> String {
    let mut lines = vec![
        format!("# {test} for {}: LoadGen's audit.config for one performance run.", benchmark.name),
        "# It overrides user.conf; take it away after that run.".into(),
    ];
    let all = |key: &str, value: &str| format!("*.*.{key} = {value}");
    match test {
        Test::Test01 | Test::Test06 => {
            lines.extend([all("mode", "2"), all(SEED.0, SEED.1)]);
            let sampling = match (test, benchmark.sampling) {
                (Test::Test06, _) => 100,
                // Models that no longer need the test: their official files have the usual number.
                (_, 0) => 4096,
                (_, sampling) => sampling,
            };
            lines.push(all("accuracy_log_sampling_target", &sampling.to_string()));
        }
        Test::Test04 => {
            for scenario in Scenario::ALL.map(Scenario::official_name) {
                lines.push(format!("*.{scenario}.mode = 2"));
                lines.extend(
                    SAME_SAMPLE.map(|(key, value)| format!("*.{scenario}.{key} = {value}")),
                );
            }
            lines.push("stable-diffusion-xl.Offline.min_query_count = 500".into());
        }
    }
    if test == Test::Test06 {
        lines.extend([all("min_query_count", "100"), all("min_duration", "0")]);
        lines.push(all("sample_concatenate_permutation", "0"));
    }
    lines.join("\n") + "\n"
}

/// Whether a run was made with the test's settings, by LoadGen's summary.
pub(super) fn in_effect(test: Test, run: &Summary) -> Result<(), String> {
    let wanted: &[_] = if test == Test::Test04 { &SAME_SAMPLE } else { &[SEED] };
    let unlike = |(key, value): &&(&str, &str)| run.value(key) != Some(*value);
    match wanted.iter().find(unlike) {
        None => Ok(()),
        Some((key, value)) => Err(format!(
            "`{key}` is not {value}: this run was not made with the audit.config of {test}, make it again {BEYOND}"
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
