//! LoadGen's logs of one run: the detail log, and the summary, which must agree with it. Also
//! reasons why a log or a record is unusable.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use crate::{
    Rule::{self, N35},
    Scenario,
    book::{LoadGenSetting, Seeds},
    facts::official_log::Summary,
    input::files,
    official_log::DetailLog,
    record::RunResult,
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
    /// The seeds in effect, by the name of the setting.
    pub(crate) seeds: BTreeMap<&'static str, u64>,
    /// LoadGen's version, without its revision.
    pub(crate) version: Option<String>,
}

impl RoundMarks {
    fn of(detail: &DetailLog) -> Self {
        let version = detail.text("loadgen_version").and_then(|text| text.split(' ').next());
        let seeds = Seeds::SETTINGS.into_iter();
        Self {
            seeds: seeds.filter_map(|setting| Some((setting, detail.seed(setting)?))).collect(),
            version: version.map(str::to_owned),
        }
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
            true => Err(UnusableFile::in_file(&detail, NO_ENTRY)),
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

const NO_ENTRY: &str = "has no entry (:::MLLOG): submit the log as LoadGen wrote it";

/// Reason why a file is unusable for judging.
#[derive(Debug, Clone)]
pub(crate) struct UnusableFile {
    /// Rule that the file breaks; `None` if another finding reports that.
    pub(crate) rule: Option<Rule>,
    /// Fault of the file, and its remedy.
    pub(crate) why: String,
}

impl UnusableFile {
    /// Creates the reason for a file that could not be read.
    pub(crate) fn unread(path: &Path, error: impl ToString) -> Self {
        // The finding names the folder, so the error need not repeat it.
        let folder = path.parent().map(|folder| format!("{}/", folder.display()));
        let error = error.to_string().replace(&folder.unwrap_or_default(), "");
        Self::in_file(path, format!("cannot be read: {error}"))
    }

    fn in_file(path: &Path, why: impl Into<String>) -> Self {
        match path.metadata() {
            Err(_) => Self::of(N35, MISSING),
            Ok(file) if file.is_file() && file.len() == 0 => Self::of(N35, EMPTY),
            Ok(_) => Self::of(N35, why),
        }
    }

    pub(crate) fn of(rule: Rule, why: impl Into<String>) -> Self {
        Self { rule: Some(rule), why: why.into() }
    }
}

/// Returns true if a file's SHA-256 is not the one that the run recorded.
pub(crate) fn is_changed(folder: &Path, name: &str, record: &RunResult) -> bool {
    let here = files::sha256(&folder.join(name)).ok();
    here.zip(record.logs.get(name)).is_some_and(|(here, recorded)| here != *recorded)
}

pub(crate) const MISSING: &str = "is missing";

pub(crate) const EMPTY: &str = "is empty: fill or remove it";

/// LoadGen's verdicts, texts and figures: the line of the summary, and the key of the detail log.
const RESULTS: [(&str, &str); 27] = [
    ("  Performance constraints satisfied", "result_perf_constraints_met"),
    ("  Min duration satisfied", "result_min_duration_met"),
    ("  Min queries satisfied", "result_min_queries_met"),
    ("  Early stopping satisfied", "early_stopping_met"),
    ("SUT name", "sut_name"),
    ("Scenario", "effective_scenario"),
    ("Mode", "effective_test_mode"),
    ("Result is", "result_validity"),
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
    ("Tokens per second", "result_tokens_per_second"),
    ("Completed tokens per second", "result_completed_tokens_per_second"),
    ("Min First Token latency (ns)", "result_first_token_min_latency_ns"),
    ("Max First Token latency (ns)", "result_first_token_max_latency_ns"),
    ("Mean First Token latency (ns)", "result_first_token_mean_latency_ns"),
    ("50.00 percentile first token latency (ns)", "result_first_token_50.00_percentile_latency_ns"),
    ("99.00 percentile first token latency (ns)", "result_first_token_99.00_percentile_latency_ns"),
];

/// Lists the differences between the summary and the detail log. The summary of an accuracy run has
/// no values to compare.
pub(crate) fn disagreements(summary: &Summary, detail: &DetailLog) -> Vec<String> {
    // A MultiStream latency is of a query in the summary, but of a sample in these keys.
    let is_of_queries = |line: &str| {
        detail.scenario() == Some(Scenario::MultiStream) && line.ends_with("latency (ns)")
    };
    let settings = LoadGenSetting::all().iter();
    let settings =
        settings.filter_map(|row| Some((row.summary.as_deref()?, row.logged.as_deref()?)));
    let mut found = Vec::new();
    for (line, key) in RESULTS.into_iter().chain(settings) {
        // N33 reports keys that occur on several lines although LoadGen writes one.
        let Some(logged) = detail.value(key).filter(|_| !summary.repeats(line)) else { continue };
        if is_of_queries(line) {
            continue;
        }
        for said in summary.values(line).iter().filter(|said| !says(said, key, logged)) {
            let logged = match logged {
                Value::String(text) => text.clone(),
                Value::Number(number) if number.is_f64() => {
                    number.as_f64().unwrap_or(0.0).to_string()
                }
                other => other.to_string(),
            };
            let text = format!("`{}` is {said}, the detail log's {key} is {logged}", line.trim());
            // Some settings of different scenarios have one line.
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    if summary.results.is_empty() && detail.text("result_validity").is_some() {
        found.push("it has no result, but the detail log has one".into());
    }
    found
}

/// Returns true if a line of the summary has the value that the detail log has under `key`, up to
/// rounding: LoadGen's summary has two decimals or six significant figures. Values of other types
/// are not compared.
fn says(said: &str, key: &str, logged: &Value) -> bool {
    match logged {
        Value::String(logged) => said == logged,
        Value::Bool(is_on) => ["Yes", "1"].contains(&said) == *is_on,
        // Seeds have more digits than a floating-point number.
        Value::Number(logged) if key.ends_with("_seed") => {
            said.parse().is_ok_and(|said: u64| logged.as_u64() == Some(said))
        }
        Value::Number(logged) => {
            let logged = logged.as_f64().unwrap_or(f64::NAN);
            said.parse()
                .is_ok_and(|said: f64| (said - logged).abs() <= 0.0051 + logged.abs() * 1e-5)
        }
        _ => true,
    }
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
            assert!(detail.begins_with_an_entry && detail.tests == 1);
            disagreements(&logs.summary.unwrap(), &detail)
        };
        assert_eq!(told(summary), Vec::<String>::new());
        for (from, to) in [("996.34", "1996.34"), ("VALID", "INVALID"), ("x N", "y N")] {
            assert_eq!(told(&summary.replace(from, to)).len(), 1, "{to}");
        }
        assert_eq!(told("No errors encountered\n").len(), 1);
    }
}
