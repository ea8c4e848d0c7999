//! Rules that a run breaks for its division. The rules are judged before the run, because a run of
//! ten minutes that breaks a rule is ten minutes lost, and by its answers when it is over.

#[cfg(test)]
#[path = "../tests/eligibility/mod.rs"]
mod tests;

pub use crate::judge::{
    check_network_rows as outside_network_division, check_suite as outside_suite,
    engines::check_decoding,
};

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    Finding, Outcome,
    Rule::{self, N2, N10, N32, N33},
    Scenario,
    book::{Benchmark, Seeds, Table, Test},
    compliance::audit_config,
    grouping::NEEDS_SUBMISSION,
    judge::{
        check_longest_answer, check_one_token_answers,
        engines::check_reused_prompts,
        limits::{COALESCED, OFFLINE_SLACK, USUAL_LIMIT},
    },
    official_log::DetailLog,
    record::{DatasetPart, Division, Mode, Node, RunResult},
    rules,
    subject::{AllFindings, NO_BENCHMARK, RunFiles, RunKind, Subject, logs::Logs, read},
};

/// Returns true if the division requires the rule of a run. The Open division prescribes nothing
/// (section 4.1.2), and an exploratory run is not a result.
pub fn is_required(division: Division, rule: Rule) -> bool {
    division.has_rules() && rule.is_required_in(division)
}

/// Returns findings about the rules of the Network division that the run would break, or that
/// cannot be judged; empty for divisions without rules. Judges rules about the nodes once the
/// record has evidence. For another division, the caller selects its findings with
/// [`is_required`].
pub fn before_run(table: &Table, run: &UpcomingRun) -> Vec<Finding> {
    if !run.record.division.has_rules() {
        return Vec::new();
    }
    let mut found = AllFindings::default();
    rules::judge(&run.subject(table), &mut found);
    let AllFindings(mut findings) = found;
    findings.retain(is_told);
    if let Some(benchmark) = table.find(&run.record.benchmark) {
        findings.extend(other_audit_config(benchmark, run));
        findings.extend(other_labels(benchmark, run));
    }
    findings.sort_by_key(|finding| finding.rule);
    findings
}

/// Returns findings about the rules of the division that the answers of a run have broken.
pub fn after_run(
    division: Division,
    benchmark: Option<&Benchmark>,
    part: Option<DatasetPart>,
    nodes: &[Node],
) -> Vec<Finding> {
    if !division.has_rules() {
        return Vec::new();
    }
    let long = benchmark.and_then(|benchmark| check_longest_answer(benchmark, part, nodes));
    let long = long.map(|why| Finding::fail(N2, "answers", why));
    let ones = check_one_token_answers(nodes).map(|why| Finding::fail(N33, "answers", why));
    let reused = |node: &Node| Some(Finding::fail(N10, &node.name, check_reused_prompts(node)?));
    long.into_iter().chain(ones).chain(nodes.iter().filter_map(reused)).collect()
}

/// Returns true unless a finding about a run that has not begun is a pass, follows from another
/// finding, or waits for the submission.
fn is_told(finding: &Finding) -> bool {
    let text = &finding.text;
    match finding.outcome {
        Outcome::Pass => text.contains(COALESCED) || text.contains(USUAL_LIMIT),
        Outcome::CannotTell => text != NO_BENCHMARK && !text.starts_with(NEEDS_SUBMISSION),
        Outcome::Fail => true,
    }
}

/// Returns a finding if LoadGen must not read the audit.config: its text is not that of a
/// compliance test of the benchmark.
fn other_audit_config(benchmark: &Benchmark, run: &UpcomingRun) -> Option<Finding> {
    let is_other = run.audit_config.is_some() && run.test_of(benchmark).is_none();
    let why = "it is not the file of a compliance test of this benchmark; omit it, and run the tests with loadgen-node audit";
    is_other.then(|| Finding::fail(N32, "audit.config", why))
}

/// Official checker's name of top-1 accuracy, the metric that a run computes itself.
const TOP1: &str = "acc";

/// Requires labels for ResNet50, whose accuracy the run computes from them, and refuses labels for
/// benchmarks whose metric is not top-1. An official script computes the accuracy of other
/// benchmarks from the accuracy log.
fn other_labels(benchmark: &Benchmark, run: &UpcomingRun) -> Option<Finding> {
    if !matches!(run.record.mode, Mode::Accuracy | Mode::Submission) {
        return None;
    }
    let name = &benchmark.name;
    let has_top1 = benchmark.quality.iter().all(|quality| quality.metric == TOP1);
    let text = match run.has_labels {
        // The graph network has this metric, too, but its official script computes it.
        false if benchmark.loadgen_model == "resnet50" => format!(
            "the accuracy of {name} is computed from labels, which are missing: pass --labels FILE, a .npy with an int32 or \
             int64 for each sample"
        ),
        true if !has_top1 => format!(
            "the accuracy of {name} is not computed from labels, but by the official script: omit --labels"
        ),
        _ => return None,
    };
    Some(Finding::fail(N2, "labels", text))
}

/// Name of the setting with which LoadGen 6.0.6 and later issues fewer samples in an accuracy run.
pub const ACCURACY_COUNT: &str = "accuracy_sample_count_override";

/// A run that has not begun: its record has no outcome.
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
    /// Returns the benchmark's compliance test whose audit.config LoadGen will read.
    fn test_of(&self, benchmark: &Benchmark) -> Option<Test> {
        let text = self.audit_config.as_ref()?;
        let mut tests = benchmark.compliance.iter().copied();
        tests.find(|test| audit_config(*test, benchmark) == *text)
    }

    fn subject<'t>(&self, table: &'t Table) -> Subject<'t> {
        let record = &self.record;
        let benchmark = table.find(&record.benchmark);
        let test = benchmark.and_then(|benchmark| self.test_of(benchmark));
        let kind = match record.mode {
            // Other tests have the settings of the performance run, and are judged as such.
            Mode::Performance if let Some(test) = test.filter(|test| test.needs_script()) => {
                RunKind::Test(test)
            }
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
