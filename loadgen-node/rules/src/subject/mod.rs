//! What is checked, read once: runs with their records and logs, and the tree around them.

mod findings;
mod judged;
pub(crate) mod logs;
mod machines;
pub(crate) mod read;
pub(crate) mod round;
pub(crate) mod set_aside;
pub(crate) mod topology;
pub(crate) mod unusable;

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
    rc::Rc,
};

use serde_json::{Map, Value};

pub(crate) use findings::{AllFindings, At, Findings, listed};
pub use judged::{JudgedDivision, JudgedRound, RoundSource};
pub(crate) use machines::{Seen, lacking, seen};

use logs::Logs;
use unusable::Unusable;

use crate::{
    Scenario,
    book::{Benchmark, Formats, Round, Table, Test},
    input::{files, json},
    official_log::{
        DetailLog,
        readable::{Readable, readable},
    },
    record::RunResult,
    tree::{ACCURACY_LOG, DETAIL, Home, Place},
};

/// A run folder, or what one submitter hands in to one division.
pub(crate) struct Subject<'t> {
    /// The rule book that it is checked against.
    pub(crate) table: &'t Table,
    /// The round that it is judged by; `None` where the table lacks it.
    pub(crate) round: Option<&'t Round>,
    /// The name of that round, and what told it.
    pub(crate) judged_round: JudgedRound,
    /// The division whose rules are asked of it.
    pub(crate) division: JudgedDivision,
    /// The tree; none for a run folder.
    pub(crate) tree: Option<Tree>,
    /// The systems of a tree that have results, in order.
    pub(crate) systems: Vec<System>,
    /// Descriptions of others.
    pub(crate) idle_systems: Vec<String>,
    pub(crate) results: Vec<Entry<'t>>,
    /// The documents about the machines with their names, as the runs make them; made when a rule asks for them.
    pub(crate) papers: OnceCell<Vec<(&'static str, String)>>,
    /// True if the whole tree is checked, and this is the first submitter in it.
    pub(crate) is_first: bool,
    /// Submissions or runs whose networking must be the same (N37).
    pub(crate) against: Option<Rc<[Self]>>,
}

/// The files of one submitter.
pub(crate) struct Tree {
    /// The folder that holds the divisions.
    pub(crate) root: PathBuf,
    pub(crate) home: Home,
}

impl Tree {
    /// The text of a file, by its path from the root; none where there is no text.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = files::read_to_string(&self.root.join(path)).ok()?;
        (!text.trim().is_empty()).then_some(text)
    }

    /// The text of a document of the submission; none where there is no text.
    pub(crate) fn document(&self, name: &str) -> Option<String> {
        self.text(&self.home.document(name))
    }

    /// The full path of one that is relative to the root.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// A system of a tree.
pub(crate) struct System {
    /// Its name: that of its file and of its folder.
    pub(crate) name: String,
    /// Its file.
    pub(crate) place: String,
    /// What the file says, or why it cannot be read.
    pub(crate) json: Result<Map<String, Value>, String>,
}

impl System {
    /// A text of the file; numbers as their digits.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        match self.json.as_ref().ok()?.get(key)? {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// One result: a benchmark in a scenario on a system. A run folder is one, too.
pub(crate) struct Entry<'t> {
    /// Its folder from the root; empty for a run folder.
    pub(crate) place: String,
    /// Where all of it is, in a tree.
    pub(crate) tree: Option<Place>,
    /// The name of the benchmark, as it is written; empty where nothing says it.
    pub(crate) name: String,
    /// The benchmark; none where the table has none of that name.
    pub(crate) benchmark: Option<&'t Benchmark>,
    /// The scenario; none where the name is none.
    pub(crate) scenario: Option<Scenario>,
    /// The measurements file, or its place and why it cannot be read; none in a run folder.
    pub(crate) measurements: Option<Result<Measurements, (String, String)>>,
    pub(crate) runs: Vec<Run>,
}

/// The measurements file: where it is, and what it says.
pub(crate) type Measurements = (String, Map<String, Value>);

impl Entry<'_> {
    /// The system that it is on, in a tree.
    pub(crate) fn system(&self) -> Option<&str> {
        self.tree.as_ref().map(|place| place.system.as_str())
    }

    /// The run of that kind.
    pub(crate) fn run(&self, kind: Kind) -> Option<&Run> {
        self.runs.iter().find(|run| run.kind == kind)
    }

    /// Whether a record is of its benchmark, by any of its names.
    pub(crate) fn is_of_benchmark(&self, record: &RunResult) -> bool {
        let named = |benchmark: &Benchmark| {
            [benchmark.name.as_str(), benchmark.checker_name()].contains(&record.benchmark.as_str())
        };
        self.name == record.benchmark || self.benchmark.is_some_and(named)
    }

    /// The records of its runs, with their places.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&str, &RunResult)> {
        self.runs.iter().filter_map(|run| Some((run.record_place.as_str(), run.result()?)))
    }
}

/// Reason why many rules cannot judge a result whose benchmark the table does not have, or has for another suite.
pub(crate) const NO_BENCHMARK: &str =
    "the table has no such benchmark of the datacenter suite, so that its limits are not known";

/// What a run was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The performance run.
    Performance,
    /// The accuracy run.
    Accuracy,
    /// Both at once, in a run folder.
    Submission,
    /// The run with digests, of which only the record is kept.
    Digests,
    /// A compliance test.
    Test(Test),
}

impl Kind {
    /// Whether its figures are those of the result.
    pub(crate) fn is_submitted(self) -> bool {
        matches!(self, Self::Performance | Self::Submission)
    }
}

/// One run.
pub(crate) struct Run {
    pub(crate) kind: Kind,
    /// The folder of its logs.
    pub(crate) place: String,
    /// The same, to read from.
    pub(crate) folder: PathBuf,
    /// Where its record is, or would be.
    pub(crate) record_place: String,
    /// The record, or why nothing can be judged by it; none where there is none.
    pub(crate) record: Option<Result<Box<RunResult>, Unusable>>,
    /// Its logs; none where no logs are asked for and none are there.
    pub(crate) logs: Option<Logs>,
    /// The SHA-256 of its detail log, read when a rule asks for it.
    pub(crate) detail_sha256: OnceCell<Option<String>>,
}

impl Run {
    /// Its record.
    pub(crate) fn result(&self) -> Option<&RunResult> {
        self.record.as_ref()?.as_ref().ok().map(Box::as_ref)
    }

    /// Whether there is a record by which nothing can be judged.
    pub(crate) fn has_unusable_record(&self) -> bool {
        matches!(self.record, Some(Err(_)))
    }

    /// Whether neither its record nor its log is of a run that belongs here.
    pub(crate) fn is_set_aside(&self) -> bool {
        self.has_unusable_record() && self.detail().is_none()
    }

    /// Returns the SHA-256 of its detail log: of the log itself, or by the record where only that is kept.
    pub(crate) fn detail_sha256(&self) -> Option<&str> {
        let read = || match self.logs {
            Some(_) => files::sha256(&self.folder.join(DETAIL)).ok(),
            None => self.result()?.logs.get(DETAIL).cloned(),
        };
        self.detail_sha256.get_or_init(read).as_deref()
    }

    /// Its detail log.
    pub(crate) fn detail(&self) -> Option<&DetailLog> {
        self.logs.as_ref()?.detail.as_ref().ok()
    }

    /// Whether LoadGen measured performance in it.
    pub(crate) fn measures(&self) -> bool {
        matches!(self.kind, Kind::Performance | Kind::Submission | Kind::Test(_))
    }

    /// Whether it is a compliance test.
    pub(crate) fn is_test(&self) -> bool {
        matches!(self.kind, Kind::Test(_))
    }

    /// Whether it is TEST06, which has settings of its own.
    pub(crate) fn is_token_test(&self) -> bool {
        self.kind == Kind::Test(Test::Test06)
    }

    /// Whether LoadGen issued the whole data set in it.
    pub(crate) fn is_accuracy(&self) -> bool {
        matches!(self.kind, Kind::Accuracy | Kind::Submission)
    }
}

impl Subject<'_> {
    /// All runs, each with the result that it belongs to.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&Entry<'_>, &Run)> {
        self.results.iter().flat_map(|entry| entry.runs.iter().map(move |run| (entry, run)))
    }

    /// All records that could be read.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&Run, &RunResult)> {
        self.runs().filter_map(|(_, run)| Some((run, run.result()?)))
    }

    /// Those of a system's runs.
    pub(crate) fn records_of<'a>(
        &'a self,
        system: &'a System,
    ) -> impl Iterator<Item = (&'a Run, &'a RunResult)> {
        let runs = self.runs().filter(|(entry, _)| entry.system() == Some(&system.name));
        runs.filter_map(|(_, run)| Some((run, run.result()?)))
    }

    /// All detail logs that could be read.
    pub(crate) fn details(&self) -> impl Iterator<Item = (&Entry<'_>, &Run, &DetailLog)> {
        self.runs().filter_map(|(entry, run)| Some((entry, run, run.detail()?)))
    }

    /// Reads the accuracy log of a run whose record may be judged by it: in a tree that of a test lies beside its logs.
    pub(crate) fn answers(&self, entry: &Entry, run: &Run) -> Option<Readable> {
        run.logs.as_ref()?;
        let folder = match (&self.tree, &entry.tree, run.kind) {
            (Some(tree), Some(place), Kind::Test(test)) => {
                tree.path(&place.compliance_accuracy(test.name()))
            }
            _ => run.folder.clone(),
        };
        let log = readable(&folder.join(ACCURACY_LOG));
        (!log.entries.is_empty()).then_some(log)
    }

    /// Returns the nodes that share a machine in a run, with the place of the record that says so.
    pub(crate) fn shared_machines(&self) -> impl Iterator<Item = (&str, String)> {
        let evidence =
            self.records().filter_map(|(run, record)| Some((run, record.evidence.as_ref()?)));
        evidence.flat_map(|(run, evidence)| {
            let machines = evidence.nodes_by_machine().into_iter();
            let shared = machines.filter(|(names, _)| names.len() > 1);
            shared.map(|(names, _)| (run.record_place.as_str(), names.join(" and ")))
        })
    }

    /// The path of what is not there: the outermost folder that is missing, or the file.
    pub(crate) fn missing(&self, path: &str) -> String {
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

    /// Whether it is made for the Open division, which has fewer rules.
    pub(crate) fn is_open(&self) -> bool {
        self.division == JudgedDivision::Open
    }

    /// The formats of its round's files.
    pub(crate) fn formats(&self) -> Formats {
        Formats::of(self.round.map(|round| round.name))
    }

    /// Returns true if the system of a result is described as one of the edge suite, alone or among others.
    pub(crate) fn is_of_edge(&self, entry: &Entry) -> bool {
        let mut systems = self.systems.iter();
        let system = systems.find(|system| entry.system() == Some(&system.name));
        let suites = system.and_then(|system| system.text("system_type"));
        suites.is_some_and(|suites| suites.contains("edge"))
    }

    /// Returns true if another program than netdiv made it: no run has a record, and netdiv's sources are not there.
    pub(crate) fn is_foreign(&self) -> bool {
        let has_record = || self.runs().any(|(_, run)| run.record.is_some());
        let has_sources = |tree: &Tree| tree.path(&tree.home.sources()).exists();
        self.tree.as_ref().is_some_and(|tree| !has_sources(tree)) && !has_record()
    }
}

/// The text of a JSON object's file.
pub(crate) fn read_object(path: &Path) -> Result<Map<String, Value>, String> {
    let text = files::read_to_string(path).map_err(|error| error.to_string())?;
    json::from_slice(text.as_bytes())
        .map_err(|error| match error.to_string() {
            text if text.contains(json::TWICE) => {
                format!("is not used: {text} with two values, of which readers take one or the other; remove one")
            }
            text => format!("cannot be read as a JSON object: {text}"),
        })
}
