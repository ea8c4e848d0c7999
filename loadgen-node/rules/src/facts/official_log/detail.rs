//! Reader of `mlperf_log_detail.txt`.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    path::Path,
};

use netdiv_node_common::words::Mode;
use serde::Deserialize;
use serde_json::Value;

use super::LogError;
use crate::{
    Scenario,
    book::formats::entry_of,
    input::{files, json::UniqueKeyJson},
};

/// Maximum number of characters of a line in a message.
const LONGEST_QUOTE: usize = 200;

/// Entries of `mlperf_log_detail.txt`.
#[derive(Debug, Clone, Default)]
pub struct DetailLog {
    /// All entries of each key, in the order of the log.
    entries: BTreeMap<String, Vec<LoggedValue>>,
    /// Messages that LoadGen marked as errors; any of them makes a run invalid.
    pub errors: Vec<String>,
    /// Lines that are not entries, each with the reason.
    pub unreadable: Vec<String>,
    /// True if the first line is an entry, as the official checkers require.
    pub(crate) begins_with_an_entry: bool,
    /// Number of tests in the log. It is more than one if several tests wrote to the log.
    pub(crate) tests: usize,
}

/// Value of an entry, with the entry's time in milliseconds since LoadGen's start.
#[derive(Debug, Clone)]
struct LoggedValue {
    value: Value,
    ms: Option<f64>,
}

/// Keys that LoadGen logs once for each set of samples that it loads. A performance test loads one
/// set. An accuracy test loads as many sets as the data set needs (`loadgen.cc`: `RunAccuracyMode`,
/// `LoadSamplesToRam`, `IssueQueries`).
const KEYS_PER_SAMPLE_SET: [&str; 6] = [
    "generated_query_count",
    "generated_samples_per_query",
    "generated_query_duration",
    "loaded_qsl_set",
    "power_begin",
    "power_end",
];

/// Prefixes of keys that LoadGen logs on events (`loadgen.cc`, `logging.cc`).
const OF_EVENTS: [&str; 4] = ["generic_message", "warning_", "error_", "logger_"];

#[derive(Deserialize)]
struct DetailEntry {
    key: String,
    value: UniqueKeyJson,
    time_ms: Option<f64>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    is_error: bool,
}

impl DetailLog {
    /// Reads the detail log. If a key has several entries, the first one counts, as in the official
    /// checker; `repeated` lists the keys that must not have several.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        let file = files::open(path).map_err(|error| LogError::new(path, error))?;
        let mut log = Self::default();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|error| LogError::new(path, error))?;
            let Some(json) = entry_of(&line) else { continue };
            log.begins_with_an_entry |= number == 0;
            let entry = match parse(json) {
                Ok(entry) => entry,
                Err(why) => {
                    // A line may contain a number for each sample.
                    let start: String = json.chars().take(LONGEST_QUOTE).collect();
                    log.unreadable.push(format!("{why}: {start}"));
                    continue;
                }
            };
            let UniqueKeyJson(value) = entry.value;
            if entry.metadata.is_error {
                log.errors.push(value.as_str().map_or_else(|| value.to_string(), Into::into));
            }
            log.tests += usize::from(entry.key == "test_datetime");
            let logged = LoggedValue { value, ms: entry.time_ms };
            log.entries.entry(entry.key).or_default().push(logged);
        }
        Ok(log)
    }

    /// Creates a log with one entry for each key.
    pub(crate) fn of(values: BTreeMap<String, Value>) -> Self {
        let entry = |(key, value)| (key, vec![LoggedValue { value, ms: None }]);
        Self { entries: values.into_iter().map(entry).collect(), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all values of a key, in the order of the log.
    pub(crate) fn all(&self, key: &str) -> impl Iterator<Item = &Value> {
        self.entries.get(key).into_iter().flatten().map(|logged| &logged.value)
    }

    /// Returns the keys that have several entries although LoadGen logs them once in a test of this
    /// mode, each with its values.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = (&str, Vec<&Value>)> {
        let loads_one_set = self.mode() == Some(Mode::Performance);
        let may_repeat = move |key: &str| {
            OF_EVENTS.iter().any(|start| key.starts_with(start))
                || (!loads_one_set && KEYS_PER_SAMPLE_SET.contains(&key))
        };
        let repeated =
            self.entries.iter().filter(move |(key, entries)| entries.len() > 1 && !may_repeat(key));
        repeated.map(|(key, _)| (key.as_str(), self.all(key).collect()))
    }

    /// Returns the time of the last entry, in seconds since LoadGen's start.
    pub(crate) fn last_seconds(&self) -> Option<f64> {
        let times = self.entries.values().flatten().filter_map(|logged| logged.ms);
        times.reduce(f64::max).map(|ms| ms / 1e3)
    }

    /// Returns the value of a key as a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.value(key)?.as_str()
    }

    pub(crate) fn scenario(&self) -> Option<Scenario> {
        Scenario::of_official_name(self.text("effective_scenario")?)
    }

    pub(crate) fn mode(&self) -> Option<Mode> {
        Mode::of_official_name(self.text("effective_test_mode")?)
    }

    /// Returns the seed that LoadGen used for a seed setting.
    pub(crate) fn seed(&self, setting: &str) -> Option<u64> {
        self.integer(&format!("effective_{setting}"))
    }

    /// Returns true if a boolean setting is on; `None` if the log does not state it.
    pub fn is_on(&self, key: &str) -> Option<bool> {
        self.value(key)?.as_bool()
    }

    /// Returns the value of a key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)?.first().map(|logged| &logged.value)
    }

    /// Returns the value of a key as an integer with all digits, because seeds have 64 bits.
    pub fn integer(&self, key: &str) -> Option<u64> {
        self.value(key)?.as_u64()
    }

    /// Number of samples in an accuracy run: the whole data set, or the part that
    /// `accuracy_sample_count_override` selects (LoadGen 6.0.6 and later).
    pub(crate) fn accuracy_samples(&self) -> Option<u64> {
        let total = self.integer("qsl_reported_total_count")?;
        let counted = self.integer("effective_accuracy_sample_count");
        Some(counted.map_or(total, |counted| counted.min(total)))
    }

    /// Returns true for LoadGen 5.0 and later. Earlier releases log other numbers of Offline's
    /// queries and samples than they issue, and some revisions do not log equal issue.
    pub(crate) fn logs_as_issued(&self) -> bool {
        let major = self.text("loadgen_version").and_then(|version| version.split('.').next());
        major.is_some_and(|major| major.parse::<u64>().is_ok_and(|major| major >= 5))
    }

    /// Number of samples in a query. With equal issue, Offline's query consists of whole passes
    /// over the loaded samples; LoadGen's effective settings do not show this.
    pub(crate) fn samples_per_query(&self) -> Option<u64> {
        let asked = self.integer("effective_samples_per_query")?;
        let is_padded = self.is_on("effective_sample_concatenate_permutation") == Some(true)
            && self.scenario() == Some(Scenario::Offline);
        let pass = self.integer("effective_performance_sample_count").unwrap_or(1).max(1);
        Some(if is_padded { asked.div_ceil(pass).saturating_mul(pass) } else { asked })
    }

    /// Returns the value of a key as a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.value(key)?.as_f64()
    }

    /// Returns all keys with a prefix whose first value is a number, with these numbers.
    pub fn numbers<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let from = self.entries.range(prefix.to_owned()..);
        let with_prefix = from.take_while(move |(key, _)| key.starts_with(prefix));
        with_prefix
            .filter_map(|(key, entries)| Some((key.as_str(), entries.first()?.value.as_f64()?)))
    }
}

/// Parses an entry. LoadGen also writes numbers that JSON does not support, such as an infinite
/// rate of a run with one query; they become null.
fn parse(json: &str) -> Result<DetailEntry, serde_json::Error> {
    serde_json::from_str(json).or_else(|_| {
        let number = |text: &str| format!("\"value\": {text},");
        let null = ["-nan", "nan", "-inf", "inf", "NaN", "Infinity", "-Infinity"]
            .iter()
            .fold(json.to_owned(), |json, text| json.replace(&number(text), &number("null")));
        serde_json::from_str(&null)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_first_entry_of_a_key_counts_and_errors_are_found() {
        let log = file(concat!(
            ":::MLLOG {\"key\": \"a\", \"value\": 1, \"metadata\": {\"is_error\": false}}\n",
            "noise\n",
            ":::MLLOG {\"key\": \"rate\", \"value\": -nan, \"metadata\": {\"is_error\": false}}\n",
            ":::MLLOG {\"key\": \"bad\n",
            ":::MLLOG {\"key\": \"a\", \"value\": 2, \"metadata\": {\"is_error\": false}}\n",
            ":::MLLOG {\"key\": \"error_runtime\", \"value\": \"lost\", \"metadata\": {\"is_error\": true}}\n",
        ));
        let log = DetailLog::read(log.path()).unwrap();
        assert_eq!((log.number("a"), log.number("rate")), (Some(1.0), None));
        assert_eq!(log.errors, ["lost"]);
        assert!(log.unreadable[0].ends_with(": {\"key\": \"bad"), "{:?}", log.unreadable);
        assert_eq!(log.numbers("a").count(), 1);
    }

    #[test]
    fn a_key_is_repeated_where_loadgen_logs_it_once() {
        let repeated = |mode: &str, keys: &[&str]| {
            let line = |key: &str, value: &str| {
                format!(":::MLLOG {{\"key\": \"{key}\", \"value\": \"{value}\"}}\n")
            };
            let mode = line("effective_test_mode", mode);
            let text: String = keys.iter().map(|key| line(key, "1") + &line(key, "2")).collect();
            let log = DetailLog::read(file(&(mode + &text)).path()).unwrap();
            log.repeated()
                .map(|(key, values)| format!("{key} {}", values.len()))
                .collect::<Vec<_>>()
        };
        let sets = ["power_begin", "loaded_qsl_set", "generated_query_count"];
        assert_eq!(repeated("AccuracyOnly", &sets), [""; 0]);
        assert_eq!(repeated("SubmissionRun", &sets), [""; 0]);
        assert_eq!(repeated("PerformanceOnly", &["power_begin"]), ["power_begin 2"]);
        let events = ["generic_message", "warning_generic_message", "error_runtime", "logger_x"];
        assert_eq!(repeated("PerformanceOnly", &events), [""; 0]);
        for mode in ["PerformanceOnly", "AccuracyOnly"] {
            for key in ["result_validity", "sut_name", "effective_min_duration_ms", "unheard_of"] {
                assert_eq!(repeated(mode, &[key]), [format!("{key} 2")]);
            }
        }
    }
}
