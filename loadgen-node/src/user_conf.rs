//! Reading a user.conf before LoadGen does. LoadGen would log an error for a bad line and go on to an invalid
//! run; it ignores keys that it does not know without a word.

use std::path::Path;

use crate::RunError;

/// The keys that LoadGen reads from a user.conf (`TestSettings::FromConfig`).
const KEYS: [&str; 23] = [
    "use_token_latencies",
    "ttft_latency",
    "tpot_latency",
    "infer_token_latencies",
    "token_latency_scaling_factor",
    "target_latency_percentile",
    "samples_per_query",
    "target_latency",
    "target_qps",
    "performance_issue_unique",
    "performance_issue_same",
    "performance_issue_same_index",
    "sample_concatenate_permutation",
    "coalesce_queries",
    "max_async_queries",
    "min_duration",
    "max_duration",
    "min_query_count",
    "max_query_count",
    "performance_sample_count_override",
    "print_timestamps",
    "accuracy_log_rng_seed",
    "accuracy_log_sampling_target",
];

const SCENARIOS: [&str; 6] =
    ["*", "SingleStream", "MultiStream", "Server", "Offline", "Interactive"];

/// Checks every line. Returns warnings about keys that LoadGen does not read.
pub(crate) fn check(path: &Path) -> Result<Vec<String>, RunError> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| RunError::Usage(format!("cannot read {name}: {error}")))?;
    let mut warnings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}, line {}", number + 1);
        warnings.extend(
            check_line(line)
                .map_err(|why| RunError::Usage(format!("{place}: {why}")))?
                .map(|warning| format!("{place}: {warning}")),
        );
    }
    Ok(warnings)
}

fn check_line(line: &str) -> Result<Option<String>, String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [key, "=", value] = words[..] else {
        return match words[..] {
            [] | ["#", ..] => Ok(None),
            [_, "=", _, "#", ..] => {
                Err("LoadGen allows no comment behind a value; give it a line of its own".into())
            }
            [first, ..] if first.starts_with('#') => {
                Err("LoadGen wants a space behind the # of a comment".into())
            }
            _ => Err(format!(
                "`{}`: write MODEL.SCENARIO.KEY = NUMBER, with spaces around `=`",
                line.trim()
            )),
        };
    };
    let [_, scenario, setting] = key.split('.').collect::<Vec<_>>()[..] else {
        return Err(format!("`{key}`: a key has three parts, MODEL.SCENARIO.KEY"));
    };
    if !SCENARIOS.contains(&scenario) {
        return Err(format!("`{scenario}` is not a scenario; use one of {}", SCENARIOS.join(", ")));
    }
    if value.parse::<f64>().is_err() {
        return Err(format!("`{value}` is not a number"));
    }
    if setting == "mode" {
        return Err("the mode is chosen with --mode, not in user.conf".into());
    }
    Ok((!KEYS.contains(&setting))
        .then(|| format!("LoadGen does not read `{setting}`; it has no effect")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn good_lines_pass_and_bad_lines_say_what_to_write() {
        for good in ["", "  # all comment", "*.Server.target_qps = 100.5", "a.*.min_duration = 1"] {
            assert_eq!(check_line(good), Ok(None), "{good}");
        }
        for (bad, want) in [
            ("*.Server.target_qps=100", "with spaces around"),
            ("*.Server.target_qps = fast", "not a number"),
            ("target_qps = 100", "three parts"),
            ("*.Sever.target_qps = 100", "not a scenario"),
            ("*.*.mode = 2", "--mode"),
            ("*.Server.target_qps = 1 2", "write MODEL"),
            ("*.Server.target_qps = 1 # one", "line of its own"),
            ("#a comment", "space behind"),
        ] {
            assert!(check_line(bad).unwrap_err().contains(want), "{bad}");
        }
        assert!(check_line("*.Server.target_qsp = 1").unwrap().unwrap().contains("no effect"));
    }
}
