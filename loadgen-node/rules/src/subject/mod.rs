//! Subject of a check, read once: runs with their records and logs, and the tree around them.

mod findings;
pub(crate) mod logs;
mod machines;
pub(crate) mod read;
pub(crate) mod round;
pub(crate) mod topology;
pub(crate) mod unusable_files;

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use findings::{AllFindings, Findings, PlaceJudgement, list_first, missing_key};
pub(crate) use machines::{RunEvidence, report_missing, runs_with_evidence};

use logs::{Logs, UnusableFile, is_changed};

use crate::{
    Scenario,
    book::{Benchmark, Formats, Round, Table, Test},
    input::{files, json},
    official_log::{
        DetailLog,
        readable_entries::{ReadableLog, read_entries},
    },
    record::{Division, RunResult},
    tree::{ACCURACY_LOG, DETAIL, ResultPaths, SubmitterFolder},
};

/// Subject of a check: a run folder, or a submitter's submission to a division.
pub(crate) struct Subject<'t> {
    /// Rule book to check against.
    pub(crate) table: &'t Table,
    /// Round to judge by; `None` if the table lacks it.
    pub(crate) round: Option<&'t Round>,
    /// Name of that round, and its source.
    pub(crate) judged_round: JudgedRound,
    /// Division whose rules apply.
    pub(crate) division: Division,
    /// True for a run that has not begun, which has no outcome.
    pub(crate) is_upcoming: bool,
    /// Files of the submission; `None` for a run folder.
    pub(crate) tree: Option<SubmissionTree>,
    /// Systems of a tree with results, in order.
    pub(crate) systems: Vec<System>,
    /// Paths of the descriptions of systems without results.
    pub(crate) idle_systems: Vec<String>,
    pub(crate) results: Vec<ResultEntry<'t>>,
    /// True if the whole tree is checked, and this is its first submitter.
    pub(crate) is_first: bool,
    /// Other submissions or runs, whose networking must be the same as this subject's (N37); `None`
    /// without a comparison.
    pub(crate) against: Option<Rc<[Self]>>,
}

/// Round that a subject is judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedRound {
    /// Name of the round, such as `v6.0`.
    pub name: String,
    /// Source of the name.
    pub by: RoundSource,
    /// True if the table has the round. Otherwise rules that change from round to round cannot be
    /// judged.
    pub in_table: bool,
}

/// Sources of the round, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum RoundSource {
    /// The option `--round`.
    #[strum(serialize = "set by --round")]
    Option,
    /// `round` in the measurements file, which `submission` writes.
    #[strum(serialize = "by its records")]
    Record,
    /// The seeds in most of the logs.
    #[strum(serialize = "by its seeds")]
    Seeds,
    /// The LoadGen that wrote most of the logs.
    #[strum(serialize = "by LoadGen's version")]
    LoadgenVersion,
    /// Layout of the folders, or the first round of the table if there is no log.
    #[strum(serialize = "by its layout")]
    Layout,
}

pub(crate) struct SubmissionTree {
    /// Folder that contains the divisions.
    pub(crate) root: PathBuf,
    pub(crate) home: SubmitterFolder,
}

impl SubmissionTree {
    /// Returns the text of a file, by its path from the root; `None` if it is missing or blank.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = files::read_to_string(&self.root.join(path)).ok()?;
        (!text.trim().is_empty()).then_some(text)
    }

    /// Returns the text of a document of the submission; `None` if it is missing or blank.
    pub(crate) fn document(&self, name: &str) -> Option<String> {
        self.text(&self.home.document(name))
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

pub(crate) struct System {
    /// Name of the system's folder and, without `.json`, of its description.
    pub(crate) name: String,
    pub(crate) place: String,
    /// Contents of the system's description, or the reason why it cannot be read.
    pub(crate) json: Result<Map<String, Value>, String>,
}

impl System {
    /// Returns the value of a field in the system's description as a text; numbers as their digits.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        match self.json.as_ref().ok()?.get(key)? {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// Result: a benchmark in a scenario on a system. A run folder counts as a result.
pub(crate) struct ResultEntry<'t> {
    /// Path of the result's folder, from the root of the tree; empty for a run folder.
    pub(crate) place: String,
    /// Paths of the result in its tree; `None` for a run folder.
    pub(crate) tree: Option<ResultPaths>,
    /// Name of the benchmark, as written; empty if unknown.
    pub(crate) name: String,
    /// Benchmark; `None` if the table lacks the name.
    pub(crate) benchmark: Option<&'t Benchmark>,
    /// Scenario; `None` if its name is invalid.
    pub(crate) scenario: Option<Scenario>,
    /// Measurements file, or its path and the reason why it cannot be read; `None` in a run folder.
    pub(crate) measurements: Option<Result<Measurements, (String, String)>>,
    pub(crate) runs: Vec<RunFiles>,
}

/// Path and contents of the measurements file.
pub(crate) type Measurements = (String, Map<String, Value>);

impl ResultEntry<'_> {
    /// Returns the name of the result's system; `None` for a run folder.
    pub(crate) fn system(&self) -> Option<&str> {
        self.tree.as_ref().map(|place| place.system.as_str())
    }

    pub(crate) fn run(&self, kind: RunKind) -> Option<&RunFiles> {
        self.runs.iter().find(|run| run.kind == kind)
    }

    /// Returns the path of the folder with the accuracy log of a run, as findings name it. In a
    /// tree, the accuracy log of a compliance test is in a separate folder.
    pub(crate) fn answers_place(&self, run: &RunFiles) -> String {
        match (&self.tree, run.kind) {
            (Some(place), RunKind::Test(test)) => place.compliance_accuracy(test.name()),
            _ => run.place.clone(),
        }
    }

    /// Returns true if a record is of the result's benchmark, under any of the benchmark's names.
    pub(crate) fn is_of_benchmark(&self, record: &RunResult) -> bool {
        let named = |benchmark: &Benchmark| {
            [benchmark.name.as_str(), benchmark.checker_name()].contains(&record.benchmark.as_str())
        };
        self.name == record.benchmark || self.benchmark.is_some_and(named)
    }

    /// Returns the records of the result's runs: the path and the record of each.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&str, &RunResult)> {
        self.runs.iter().filter_map(|run| Some((run.record_place.as_str(), run.result()?)))
    }
}

/// Reason why many rules cannot judge a result whose benchmark is not in the table, or is of
/// another suite.
pub(crate) const NO_BENCHMARK: &str =
    "the table has no such benchmark of the datacenter suite, so that its limits are not known";

/// Purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunKind {
    Performance,
    Accuracy,
    /// Performance and accuracy in a single run folder.
    Submission,
    /// Run with digests; a submission contains only its record.
    Digests,
    Test(Test),
}

impl RunKind {
    /// Returns true if the figures of the run are those of the result.
    pub(crate) fn is_submitted(self) -> bool {
        matches!(self, Self::Performance | Self::Submission)
    }
}

pub(crate) struct RunFiles {
    pub(crate) kind: RunKind,
    /// Path of the folder with the run's logs, as findings name it.
    pub(crate) place: String,
    /// Path of the folder with the run's logs, for reading them.
    pub(crate) folder: PathBuf,
    /// Path of the run's record, which may be missing.
    pub(crate) record_place: String,
    /// Record, or the reason why it is unusable; `None` if it is missing.
    pub(crate) record: Option<Result<Box<RunResult>, UnusableFile>>,
    /// Logs; `None` if they are missing and not required.
    pub(crate) logs: Option<Logs>,
}

impl RunFiles {
    pub(crate) fn result(&self) -> Option<&RunResult> {
        self.record.as_ref()?.as_ref().ok().map(Box::as_ref)
    }

    /// Returns true if neither the record nor the detail log belongs to this run.
    pub(crate) fn is_set_aside(&self) -> bool {
        matches!(self.record, Some(Err(_))) && self.detail().is_none()
    }

    /// Returns the SHA-256 of the detail log, computed from the log, or from the record if the logs
    /// are not required.
    pub(crate) fn detail_sha256(&self) -> Option<String> {
        match self.logs {
            Some(_) => files::sha256(&self.folder.join(DETAIL)).ok(),
            None => self.result()?.logs.get(DETAIL).cloned(),
        }
    }

    pub(crate) fn detail(&self) -> Option<&DetailLog> {
        self.logs.as_ref()?.detail.as_ref().ok()
    }

    /// Returns true if LoadGen measured performance.
    pub(crate) fn is_performance(&self) -> bool {
        matches!(self.kind, RunKind::Performance | RunKind::Submission | RunKind::Test(_))
    }

    pub(crate) fn is_test(&self) -> bool {
        matches!(self.kind, RunKind::Test(_))
    }

    /// Returns true for the run of TEST06, which may have an accuracy log alone.
    pub(crate) fn is_token_test(&self) -> bool {
        self.kind == RunKind::Test(Test::Test06)
    }

    /// Returns true for the run of a test that does not measure the speed: its audit.config sets
    /// the number of queries, and no minimum duration.
    pub(crate) fn has_own_length(&self) -> bool {
        matches!(self.kind, RunKind::Test(test) if !test.compares_speed())
    }

    /// Returns true if LoadGen issued the whole data set.
    pub(crate) fn is_accuracy(&self) -> bool {
        matches!(self.kind, RunKind::Accuracy | RunKind::Submission)
    }
}

impl Subject<'_> {
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&ResultEntry<'_>, &RunFiles)> {
        self.results.iter().flat_map(|entry| entry.runs.iter().map(move |run| (entry, run)))
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = (&RunFiles, &RunResult)> {
        self.runs().filter_map(|(_, run)| Some((run, run.result()?)))
    }

    pub(crate) fn records_of<'a>(
        &'a self,
        system: &'a System,
    ) -> impl Iterator<Item = (&'a RunFiles, &'a RunResult)> {
        let runs = self.runs().filter(|(entry, _)| entry.system() == Some(&system.name));
        runs.filter_map(|(_, run)| Some((run, run.result()?)))
    }

    pub(crate) fn details(
        &self,
    ) -> impl Iterator<Item = (&ResultEntry<'_>, &RunFiles, &DetailLog)> {
        self.runs().filter_map(|(entry, run)| Some((entry, run, run.detail()?)))
    }

    /// Reads the accuracy log of a run. Returns `None` if the run has no logs, or if no entry of
    /// the accuracy log is readable. TEST06 may have this log only; `None` if it was changed after
    /// the run.
    pub(crate) fn read_answers(&self, entry: &ResultEntry, run: &RunFiles) -> Option<ReadableLog> {
        if run.logs.is_none() && !run.is_token_test() {
            return None;
        }
        let folder = match &self.tree {
            Some(tree) => tree.path(&entry.answers_place(run)),
            None => run.folder.clone(),
        };
        let is_changed = |record| is_changed(&folder, ACCURACY_LOG, record);
        if run.is_token_test() && run.result().is_some_and(is_changed) {
            return None;
        }
        let log = read_entries(&folder.join(ACCURACY_LOG));
        (!log.entries.is_empty()).then_some(log)
    }

    /// Returns the machines that several nodes of a run share: the path of the run's record, and
    /// the names of the nodes joined by ` and `.
    pub(crate) fn shared_machines(&self) -> impl Iterator<Item = (&str, String)> {
        let evidence =
            self.records().filter_map(|(run, record)| Some((run, record.evidence.as_ref()?)));
        evidence.flat_map(|(run, evidence)| {
            let machines = evidence.nodes_by_machine().into_iter();
            let shared = machines.filter(|(names, _)| names.len() > 1);
            shared.map(|(names, _)| (run.record_place.as_str(), names.join(" and ")))
        })
    }

    /// Returns the path of a missing file, or the path of the outermost missing folder that
    /// contains the file.
    pub(crate) fn outermost_missing(&self, path: &str) -> String {
        let mut missing = path;
        if let Some(tree) = &self.tree {
            while let Some((folder, _)) = missing.rsplit_once('/')
                && !tree.path(folder).exists()
            {
                missing = folder;
            }
        }
        missing.to_owned()
    }

    /// Returns true for a submission or run of the Open division, which has fewer rules.
    pub(crate) fn is_open(&self) -> bool {
        self.division == Division::Open
    }

    pub(crate) fn formats(&self) -> Formats {
        Formats::of(self.round.map(|round| round.name))
    }

    /// Returns true if the system of a result is described as an edge system, alone or among other
    /// types.
    pub(crate) fn is_of_edge(&self, entry: &ResultEntry) -> bool {
        let mut systems = self.systems.iter();
        let system = systems.find(|system| entry.system() == Some(&system.name));
        let suites = system.and_then(|system| system.text("system_type"));
        suites.is_some_and(|suites| suites.contains("edge"))
    }

    /// Returns true if another program than netdiv made the submission: no run has a record, and
    /// netdiv's sources are missing.
    pub(crate) fn is_foreign(&self) -> bool {
        let has_record = || self.runs().any(|(_, run)| run.record.is_some());
        let has_sources = |tree: &SubmissionTree| tree.path(&tree.home.sources()).exists();
        self.tree.as_ref().is_some_and(|tree| !has_sources(tree)) && !has_record()
    }
}

pub(crate) fn read_object(path: &Path) -> Result<Map<String, Value>, String> {
    let text = files::read_to_string(path).map_err(|error| error.to_string())?;
    json::from_slice(text.as_bytes())
        .map_err(|error| match error {
            text if text.contains(json::REPEATED_KEY) => {
                format!("is not used: {text} with two values, and readers differ in which one they use; remove one")
            }
            text => format!("cannot be read as a JSON object: {text}"),
        })
}
