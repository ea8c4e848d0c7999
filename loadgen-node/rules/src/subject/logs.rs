//! LoadGen's logs of one run: the detail log, and the summary, which must agree with it.

use std::path::Path;

use super::unusable::{MISSING, UnusableFile};
use crate::{
    Scenario,
    book::Seeds,
    facts::official_log::Summary,
    judge::user_conf::number,
    official_log::DetailLog,
    tree::{DETAIL, SUMMARY},
};

/// Logs in the folder of a run.
#[derive(Debug)]
pub(crate) struct Logs {
    /// Detail log, or the reason why it is unusable.
    pub(crate) detail: Result<DetailLog, UnusableFile>,
    /// Summary, or the reason why it is unusable.
    pub(crate) summary: Result<Summary, UnusableFile>,
    /// Values that identify the round, from the detail log even if that log is unusable.
    pub(crate) marks: Option<RoundMarks>,
}

/// Values in a detail log that identify its round.
#[derive(Debug, Clone)]
pub(crate) struct RoundMarks {
    /// The seeds in effect, in the order of [`Seeds::SETTINGS`].
    pub(crate) seeds: [Option<u64>; 3],
    /// LoadGen's version, without its revision.
    pub(crate) version: Option<String>,
}

impl RoundMarks {
    fn of(detail: &DetailLog) -> Self {
        let version = detail.text("loadgen_version").and_then(|text| text.split(' ').next());
        Self {
            seeds: Seeds::SETTINGS.map(|setting| detail.seed(setting)),
            version: version.map(str::to_owned),
        }
    }

    /// Returns the seed of a setting.
    pub(crate) fn seed(&self, setting: &str) -> Option<u64> {
        let place = Seeds::SETTINGS.iter().position(|known| *known == setting)?;
        self.seeds[place]
    }
}

impl Logs {
    /// Reads the logs in `folder`.
    pub(crate) fn read(folder: &Path) -> Self {
        let [detail, summary] = [DETAIL, SUMMARY].map(|name| folder.join(name));
        let log = DetailLog::read(&detail).map_err(|error| UnusableFile::unread(&detail, error));
        let summary =
            Summary::read(&summary).map_err(|error| UnusableFile::unread(&summary, error));
        let log = log.and_then(|log| match log.is_empty() {
            true => Err(UnusableFile::without_entries(&detail)),
            false => Ok(log),
        });
        let marks = log.as_ref().ok().map(RoundMarks::of);
        Self { detail: log, summary, marks }
    }

    /// Creates the logs of a run that has not begun.
    pub(crate) fn upcoming(detail: DetailLog) -> Self {
        let summary = Err(UnusableFile { rule: None, why: MISSING.into() });
        Self { marks: Some(RoundMarks::of(&detail)), detail: Ok(detail), summary }
    }
}

/// Lists the differences between the summary and the detail log. The summary of an accuracy run has
/// no values to compare.
pub(crate) fn disagreements(summary: &Summary, detail: &DetailLog) -> Vec<String> {
    let texts = [
        ("SUT name", "sut_name"),
        ("Scenario", "effective_scenario"),
        ("Mode", "effective_test_mode"),
        ("Result is", "result_validity"),
    ];
    let numbers = [
        ("Samples per second", "result_samples_per_second"),
        ("Completed samples per second", "result_completed_samples_per_sec"),
        ("Scheduled samples per second", "result_scheduled_samples_per_sec"),
        ("Min latency (ns)", "result_min_latency_ns"),
        ("Max latency (ns)", "result_max_latency_ns"),
        ("Mean latency (ns)", "result_mean_latency_ns"),
        ("50.00 percentile latency (ns)", "result_50.00_percentile_latency_ns"),
        ("90.00 percentile latency (ns)", "result_90.00_percentile_latency_ns"),
        ("95.00 percentile latency (ns)", "result_95.00_percentile_latency_ns"),
        ("97.00 percentile latency (ns)", "result_97.00_percentile_latency_ns"),
        ("99.00 percentile latency (ns)", "result_99.00_percentile_latency_ns"),
        ("99.90 percentile latency (ns)", "result_99.90_percentile_latency_ns"),
        ("target_qps", "effective_target_qps"),
        ("min_duration (ms)", "effective_min_duration_ms"),
        ("max_duration (ms)", "effective_max_duration_ms"),
        ("min_query_count", "effective_min_query_count"),
        ("max_query_count", "effective_max_query_count"),
        ("samples_per_query", "effective_samples_per_query"),
        ("target_latency (ns)", "effective_target_latency_ns"),
        ("performance_sample_count", "effective_performance_sample_count"),
        ("accuracy_sample_count", "effective_accuracy_sample_count"),
        ("max_async_queries", "effective_max_async_queries"),
        ("ttft_latency (ns)", "requested_server_ttft_latency"),
        ("tpot_latency (ns)", "requested_server_tpot_latency"),
        ("accuracy_log_rng_seed", "effective_accuracy_log_rng_seed"),
        ("accuracy_log_probability", "effective_accuracy_log_probability"),
        ("accuracy_log_sampling_target", "effective_accuracy_log_sampling_target"),
        ("print_timestamps", "effective_print_timestamps"),
        ("performance_issue_unique", "effective_performance_issue_unique"),
        ("performance_issue_same", "effective_performance_issue_same"),
        ("performance_issue_same_index", "effective_performance_issue_same_index"),
        ("Tokens per second", "result_tokens_per_second"),
        ("Completed tokens per second", "result_completed_tokens_per_second"),
        ("Min First Token latency (ns)", "result_first_token_min_latency_ns"),
        ("Max First Token latency (ns)", "result_first_token_max_latency_ns"),
        ("Mean First Token latency (ns)", "result_first_token_mean_latency_ns"),
        (
            "50.00 percentile first token latency (ns)",
            "result_first_token_50.00_percentile_latency_ns",
        ),
        (
            "99.00 percentile first token latency (ns)",
            "result_first_token_99.00_percentile_latency_ns",
        ),
        ("qsl_rng_seed", "effective_qsl_rng_seed"),
        ("sample_index_rng_seed", "effective_sample_index_rng_seed"),
        ("schedule_rng_seed", "effective_schedule_rng_seed"),
    ];
    let answers = [
        ("  Performance constraints satisfied", "result_perf_constraints_met"),
        ("  Min duration satisfied", "result_min_duration_met"),
        ("  Min queries satisfied", "result_min_queries_met"),
        ("  Early stopping satisfied", "early_stopping_met"),
    ];
    // A MultiStream latency is of a query in the summary, but of a sample in these keys.
    let is_of_queries = |name: &str| {
        detail.scenario() == Some(Scenario::MultiStream) && name.ends_with("latency (ns)")
    };
    let numbers = numbers.into_iter().filter(|(name, _)| !is_of_queries(name));
    // N33 reports keys that occur on several lines although LoadGen writes one.
    let values = |name: &str| match summary.repeats(name) {
        true => [].iter(),
        false => summary.values(name).iter(),
    };
    let mut found = Vec::new();
    for (name, key) in answers {
        let Some(logged) = detail.is_on(key) else { continue };
        let is_said = |said: &&String| (said.as_str() == "Yes") == logged;
        for said in values(name).filter(|said| !is_said(said)) {
            found.push(format!("`{}` is {said}, the detail log's {key} is {logged}", name.trim()));
        }
    }
    for (name, key) in texts {
        let Some(logged) = detail.text(key) else { continue };
        for said in values(name).filter(|said| *said != logged) {
            found.push(format!("`{name}` is {said}, the detail log's {key} is {logged}"));
        }
    }
    for (name, key) in numbers {
        let switch = || detail.is_on(key).map(f64::from);
        let Some(logged) = detail.number(key).or_else(switch) else { continue };
        // Seeds have more digits than a floating-point number.
        let is_whole = |said: &&String| {
            let numbers = said.parse::<u64>().ok().zip(detail.integer(key));
            numbers.map(|(said, logged)| said == logged)
        };
        let is_near = |said: &&String| number(said).is_some_and(|said| is_rounded(said, logged));
        let is_said = |said: &&String| {
            if name.ends_with("_seed") { is_whole(said).unwrap_or(false) } else { is_near(said) }
        };
        for said in values(name).filter(|said| !is_said(said)) {
            let logged = detail.integer(key).map_or_else(|| logged.to_string(), |n| n.to_string());
            found.push(format!("`{name}` is {said}, the detail log's {key} is {logged}"));
        }
    }
    if summary.results.is_empty() && detail.text("result_validity").is_some() {
        found.push("it has no result, but the detail log has one".into());
    }
    found
}

/// Returns true if two values agree up to rounding: LoadGen's summary has two decimals or six
/// significant figures.
fn is_rounded(said: f64, logged: f64) -> bool {
    (said - logged).abs() <= 0.0051 + logged.abs() * 1e-5
}

#[cfg(test)]
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
            let detail = logs.detail.unwrap();
            assert!(detail.begins_with_an_entry() && detail.tests() == 1);
            disagreements(&logs.summary.unwrap(), &detail)
        };
        assert_eq!(told(summary), Vec::<String>::new());
        for (from, to) in [("996.34", "1996.34"), ("VALID", "INVALID"), ("x N", "y N")] {
            assert_eq!(told(&summary.replace(from, to)).len(), 1, "{to}");
        }
        assert_eq!(told("No errors encountered\n").len(), 1);
    }
}
