//! LoadGen's logs of one run: the detail log, and the summary that must say the same.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    path::Path,
};

use crate::{
    official_log::DetailLog,
    regular,
    tree::{DETAIL, SUMMARY},
};

/// What a folder holds of one run.
#[derive(Debug)]
pub(super) struct Logs {
    /// The detail log, or why it cannot be read.
    pub(super) detail: Result<DetailLog, String>,
    /// The summary, or why it cannot be read.
    pub(super) summary: Result<Summary, String>,
    /// Whether the detail log's first line is an entry, as the official checkers ask.
    pub(super) begins_with_an_entry: bool,
    /// Tests that the detail log is of: a log that was appended to has more than one.
    pub(super) tests: usize,
}

impl Logs {
    /// Reads the logs in `folder`.
    pub(super) fn read(folder: &Path) -> Self {
        // Places are told by those who report it.
        let here = format!("{}/", folder.display());
        let detail = DetailLog::read(&folder.join(DETAIL))
            .map_err(|error| error.to_string().replace(&here, ""));
        let (begins_with_an_entry, tests) = outline(&folder.join(DETAIL)).unwrap_or_default();
        let summary = regular::read_to_string(&folder.join(SUMMARY))
            .map(|text| Summary::of(&text))
            .map_err(|error| format!("{SUMMARY} cannot be read: {error}"));
        Self { detail, summary, begins_with_an_entry, tests }
    }
}

fn outline(detail: &Path) -> std::io::Result<(bool, usize)> {
    let (mut begins, mut tests) = (false, 0);
    for (number, line) in BufReader::new(regular::open(detail)?).lines().enumerate() {
        let line = line?;
        begins |= number == 0 && line.starts_with(":::MLLOG ");
        tests += usize::from(line.contains("\"key\": \"test_datetime\""));
    }
    Ok((begins, tests))
}

/// `mlperf_log_summary.txt`: what stands before and after the colon of each line, the first of each name.
#[derive(Debug, Default)]
pub(super) struct Summary(BTreeMap<String, String>);

impl Summary {
    fn of(text: &str) -> Self {
        let mut entries = BTreeMap::new();
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            entries.entry(name.trim().into()).or_insert_with(|| value.trim().into());
        }
        Self(entries)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Where it does not say what the detail log says; a summary of an accuracy run says nothing.
    pub(super) fn disagreements(&self, detail: &DetailLog) -> Vec<String> {
        let texts = [
            ("SUT name", "sut_name"),
            ("Scenario", "effective_scenario"),
            ("Mode", "effective_test_mode"),
            ("Result is", "result_validity"),
        ];
        let numbers = [
            ("Samples per second", "result_samples_per_second"),
            ("Completed samples per second", "result_completed_samples_per_sec"),
            ("Mean latency (ns)", "result_mean_latency_ns"),
            ("99.00 percentile latency (ns)", "result_99.00_percentile_latency_ns"),
            ("min_duration (ms)", "effective_min_duration_ms"),
            ("samples_per_query", "effective_samples_per_query"),
            ("target_latency (ns)", "effective_target_latency_ns"),
            ("performance_sample_count", "effective_performance_sample_count"),
            ("qsl_rng_seed", "effective_qsl_rng_seed"),
            ("sample_index_rng_seed", "effective_sample_index_rng_seed"),
            ("schedule_rng_seed", "effective_schedule_rng_seed"),
        ];
        let mut found = Vec::new();
        for (name, key) in texts {
            if let (Some(said), Some(logged)) = (self.text(name), detail.text(key))
                && said != logged
            {
                found.push(format!("`{name}` is {said}, the detail log's {key} is {logged}"));
            }
        }
        for (name, key) in numbers {
            if let (Some(said), Some(logged)) = (self.text(name), detail.number(key))
                && !said.parse().is_ok_and(|said: f64| is_rounded(said, logged))
            {
                found.push(format!("`{name}` is {said}, the detail log's {key} is {logged}"));
            }
        }
        if self.text("Result is").is_none() && detail.text("result_validity").is_some() {
            found.push("it gives no result, and the detail log does".into());
        }
        found
    }
}

/// LoadGen's summary has two decimals or six significant figures.
fn is_rounded(said: f64, logged: f64) -> bool {
    (said - logged).abs() <= 0.0051 + logged.abs() * 1e-5
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn detail(entries: &[(&str, &str)]) -> String {
        let line = |(key, value): &(&str, &str)| {
            format!(
                ":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"metadata\": {{\"is_error\": false}}}}\n"
            )
        };
        entries.iter().map(line).collect()
    }

    #[test]
    fn a_summary_that_says_something_else_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let entries = [
            ("test_datetime", "\"2025\""),
            ("sut_name", "\"x Network SUT [a: b]\""),
            ("effective_scenario", "\"Server\""),
            ("result_validity", "\"VALID\""),
            ("result_completed_samples_per_sec", "996.337"),
        ];
        fs::write(folder.path().join(DETAIL), detail(&entries)).unwrap();
        let summary = "===\nSUT name : x Network SUT [a: b]\nScenario : Server\n\
                       Completed samples per second    : 996.34\nResult is : VALID\n  Min duration : Yes\n";
        let told = |summary: &str| {
            fs::write(folder.path().join(SUMMARY), summary).unwrap();
            let logs = Logs::read(folder.path());
            assert!(logs.begins_with_an_entry && logs.tests == 1);
            logs.summary.unwrap().disagreements(&logs.detail.unwrap())
        };
        assert_eq!(told(summary), Vec::<String>::new());
        for (from, to) in [("996.34", "1996.34"), ("VALID", "INVALID"), ("x N", "y N")] {
            assert_eq!(told(&summary.replace(from, to)).len(), 1, "{to}");
        }
        assert_eq!(told("No errors encountered\n").len(), 1);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let logs = Logs::read(Path::new("/no/such/folder"));
        assert!(logs.detail.unwrap_err().contains(DETAIL));
        assert!(logs.summary.unwrap_err().contains(SUMMARY));
        assert_eq!(logs.tests, 0);
    }
}
