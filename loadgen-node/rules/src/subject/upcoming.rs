//! A run that has not begun, as a subject of the judges: its record has no outcome, and its log
//! has the entries that are known beforehand.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};

use super::{RunFiles, RunKind, Subject, logs::Logs, read};
use crate::{
    Scenario,
    book::{Seeds, Table},
    judge::limits::OFFLINE_SLACK,
    official_log::DetailLog,
    record::{Mode, RunResult},
};

/// Name of the setting with which LoadGen 6.0.6 and later issues fewer samples in an accuracy run.
pub const ACCURACY_COUNT: &str = "accuracy_sample_count_override";

/// A run that has not begun.
#[derive(Debug, Clone)]
pub struct UpcomingRun {
    /// Record of the run, without an outcome. It has evidence once the nodes have replied.
    pub record: RunResult,
    /// Number of samples that the QSL reports for performance mode. LoadGen's settings may override
    /// it.
    pub performance_samples: u64,
    /// True if there is a label for each sample.
    pub has_labels: bool,
    /// Git status of LoadGen's files, as its build recorded it.
    pub loadgen_changes: String,
    /// SHA-1 of LoadGen's source files, by path.
    pub loadgen_files: BTreeMap<String, String>,
    /// Text of the audit.config that LoadGen will read, if there is one. It overrides all other
    /// settings.
    pub audit_config: Option<String>,
}

impl UpcomingRun {
    pub(crate) fn subject<'t>(&self, table: &'t Table) -> Subject<'t> {
        let record = &self.record;
        let kind = match record.mode {
            _ if record.settings.get("digests") == Some(&Value::Bool(true)) => RunKind::Digests,
            Mode::Accuracy => RunKind::Accuracy,
            Mode::Submission => RunKind::Submission,
            Mode::Performance | Mode::FindPeak => RunKind::Performance,
        };
        let run = RunFiles {
            kind,
            place: String::new(),
            folder: PathBuf::new(),
            record_place: String::new(),
            record: Some(Ok(Box::new(record.clone()))),
            logs: Some(Logs::upcoming(self.log())),
        };
        Subject { is_upcoming: true, ..read::single_run(run, table, None) }
    }

    /// Returns the entries that LoadGen will log about itself, the QSL, and its settings
    /// (`test_settings_internal.cc`). The settings are those of the run, without the changes of an
    /// audit.config.
    fn log(&self) -> DetailLog {
        let RunResult { test_settings, scenario, mode, dataset_samples, versions, .. } =
            &self.record;
        let value = |name: &str| serde_json::from_str::<Value>(test_settings.get(name)?).ok();
        let number = |name: &str| value(name).and_then(|value| value.as_f64()).unwrap_or_default();
        let count = |name: &str, otherwise: u64| {
            let set = value(name).and_then(|value| value.as_u64()).filter(|count| *count > 0);
            set.unwrap_or(otherwise).min(*dataset_samples)
        };
        let samples_per_query = match scenario {
            Scenario::Offline => {
                let seconds = number("min_duration_ms") / 1e3;
                let in_time = OFFLINE_SLACK * seconds * number("offline_expected_qps");
                (in_time as u64).max(number("min_query_count") as u64)
            }
            _ => 1,
        };
        let mut log = BTreeMap::new();
        for (name, value) in test_settings.keys().filter_map(|name| Some((name, value(name)?))) {
            log.insert(format!("requested_{name}"), value.clone());
            log.insert(format!("effective_{name}"), value);
        }
        if value("test05") == Some(Value::Bool(true)) {
            for seed in Seeds::SETTINGS {
                log.insert(format!("effective_{seed}"), json!(value(&format!("test05_{seed}"))));
            }
        }
        let performance = count("performance_sample_count_override", self.performance_samples);
        let entries = [
            ("effective_scenario", json!(scenario.official_name())),
            ("effective_test_mode", json!(mode.official_name())),
            ("effective_performance_sample_count", json!(performance)),
            ("effective_accuracy_sample_count", json!(count(ACCURACY_COUNT, *dataset_samples))),
            ("effective_samples_per_query", json!(samples_per_query)),
            ("effective_target_latency_ns", json!(value("server_target_latency_ns"))),
            (
                "effective_target_latency_percentile",
                json!(value("server_target_latency_percentile")),
            ),
            ("qsl_reported_total_count", json!(dataset_samples)),
            ("qsl_reported_performance_count", json!(self.performance_samples)),
            ("loadgen_version", json!(versions.loadgen)),
            ("loadgen_git_status_message", json!(self.loadgen_changes)),
            ("loadgen_file_sha1", json!(self.loadgen_files)),
        ];
        log.extend(entries.map(|(key, value)| (key.to_owned(), value)));
        DetailLog::of(log)
    }
}
