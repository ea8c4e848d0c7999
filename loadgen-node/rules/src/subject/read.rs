//! Reads the subjects of a check: a run folder, a whole tree, or a submitter's folder in a tree.

use netdiv_node_common::words::Mode;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    JudgedRound, Measurements, ResultEntry, RunFiles, RunKind, Subject, SubmissionTree, System,
    logs::{Logs, MISSING, UnusableFile},
    read_object, round,
    unusable_files::set_aside,
};
use crate::{
    Scenario,
    book::{Benchmark, Round, RoundName, Suite, Table, Test},
    compliance::other_settings,
    input::files::{self, entries},
    official_log::DetailLog,
    record::{Division, RunResult},
    tree::{
        self, DETAIL, DIVISIONS, INTERACTIVE, Layout, ResultPaths, SubmitterFolder, list_homes,
    },
};

/// Error that prevents the check of a folder.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The folder does not exist.
    #[error("{}: there is no such folder", .0.display())]
    NoFolder(PathBuf),
    /// The folder is neither a run, nor a tree, nor a submitter's folder in one.
    #[error(
        "{}: this is neither a run (with result.json or mlperf_log_detail.txt), nor a submission (with closed/, network/ or \
         open/), nor a submitter's folder in one (DIVISION/SUBMITTER, with results/ or systems/): name one of these",
        .0.display()
    )]
    Unknown(PathBuf),
    /// The folders of the divisions contain no submitter's folder.
    #[error("{}: closed/, network/ and open/ have no submitter's folder in them", .0.display())]
    Empty(PathBuf),
    /// The folder cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

/// Reads all subjects of the check in the folder `dir`.
pub(crate) fn subjects<'t>(
    dir: &Path,
    table: &'t Table,
    round: Option<RoundName>,
) -> Result<Vec<Subject<'t>>, CheckError> {
    if !dir.is_dir() {
        return Err(CheckError::NoFolder(dir.into()));
    }
    if dir.join(RunResult::FILE).is_file() || dir.join(DETAIL).is_file() {
        return Ok(vec![run(dir, table, round)]);
    }
    if DIVISIONS.iter().any(|division| dir.join(division).is_dir()) {
        let homes = list_homes(dir)?.into_iter();
        let mut subjects: Vec<_> =
            homes.map(|home| submission(dir, home, table, round)).collect::<Result<_, _>>()?;
        subjects.first_mut().ok_or_else(|| CheckError::Empty(dir.into()))?.is_first = true;
        return Ok(subjects);
    }
    let (root, home) = submitter(dir)?.ok_or_else(|| CheckError::Unknown(dir.into()))?;
    Ok(vec![submission(&root, home, table, round)?])
}

/// Finds the tree that contains `dir`. Returns the root of the tree and the submitter's folder;
/// `None` if `dir` is not a submitter's folder.
fn submitter(dir: &Path) -> std::io::Result<Option<(PathBuf, SubmitterFolder)>> {
    if !(dir.join("results").is_dir() || dir.join("systems").is_dir()) {
        return Ok(None);
    }
    let dir = dir.canonicalize()?;
    let Some(root) = dir.parent().and_then(Path::parent) else { return Ok(None) };
    let homes = list_homes(root)?;
    let home = homes.into_iter().find(|home| root.join(home.root()) == dir);
    Ok(home.map(|home| (root.to_path_buf(), home)))
}

fn run<'t>(dir: &Path, table: &'t Table, option: Option<RoundName>) -> Subject<'t> {
    let record = record(&dir.join(RunResult::FILE));
    let result = record.as_ref().and_then(|record| record.as_ref().ok());
    let logs = Logs::read(dir);
    let detail = logs.detail.as_ref().ok();
    let benchmark = result.and_then(|result| table.find(&result.benchmark));
    let test = detail.and_then(|detail| test_of(detail, benchmark));
    let kind = match result.map(|result| result.mode).or_else(|| detail?.mode()) {
        Some(Mode::Performance) if let Some(test) = test => RunKind::Test(test),
        Some(Mode::Accuracy) => RunKind::Accuracy,
        Some(Mode::Submission) => RunKind::Submission,
        _ => RunKind::Performance,
    };
    let run = RunFiles {
        kind,
        place: ".".into(),
        folder: dir.to_path_buf(),
        record_place: RunResult::FILE.into(),
        record,
        logs: Some(logs),
    };
    single_run(run, table, option)
}

/// Returns the subject that consists of a single run.
pub(crate) fn single_run(run: RunFiles, table: &Table, option: Option<RoundName>) -> Subject<'_> {
    let result = run.result();
    // An exploratory run is judged by the rules of the Network division, and is not a result.
    let division = result.map(|result| result.division).filter(|one| *one != Division::Exploratory);
    let division = division.unwrap_or(Division::Network);
    let name = result.map_or_else(String::new, |result| result.benchmark.clone());
    let scenario = result.map(|result| result.scenario).or_else(|| run.detail()?.scenario());
    let is_offered = |benchmark: &&Benchmark| benchmark.suite != Suite::Retired;
    let mut entry = ResultEntry {
        place: String::new(),
        tree: None,
        benchmark: table.find(&name).filter(is_offered),
        name,
        scenario,
        measurements: None,
        runs: vec![run],
    };
    set_aside(&mut entry);
    let results = vec![entry];
    let rounds = round::round(table, option, &results, None);
    without_tree(table, rounds, division, results)
}

/// Returns a subject with these results and no tree.
fn without_tree<'t>(
    table: &'t Table,
    (round, judged_round): (Option<&'t Round>, JudgedRound),
    division: Division,
    results: Vec<ResultEntry<'t>>,
) -> Subject<'t> {
    Subject {
        table,
        round,
        judged_round,
        division,
        is_upcoming: false,
        tree: None,
        systems: Vec::new(),
        idle_systems: Vec::new(),
        results,
        is_first: false,
        against: None,
    }
}

/// Returns the compliance test whose audit.config a run used, by the settings in effect in
/// LoadGen's log: a test of the benchmark that has all of them, or else the one that has most.
fn test_of(detail: &DetailLog, benchmark: Option<&Benchmark>) -> Option<Test> {
    let exact = benchmark.and_then(|benchmark| {
        let mut tests = benchmark.compliance.iter().copied();
        tests.find(|test| other_settings(*test, benchmark, detail).is_empty())
    });
    if exact.is_some() {
        return exact;
    }
    if detail.is_on("effective_performance_issue_same") == Some(true) {
        return Some(Test::Test04);
    }
    let sampled = detail.integer("effective_accuracy_log_sampling_target").filter(|n| *n > 0)?;
    let queries = detail.integer("effective_min_query_count");
    let is_short = detail.integer("effective_min_duration_ms") == Some(0);
    let is_of_tokens = is_short && (queries == Some(sampled) || queries == Some(1));
    Some(if is_of_tokens { Test::Test06 } else { Test::Test01 })
}

fn record(path: &Path) -> Option<Result<Box<RunResult>, UnusableFile>> {
    let read = || {
        let json = files::read(path).map_err(|error| error.to_string())?;
        RunResult::of(&json).map(Box::new)
    };
    path.exists().then(|| read().map_err(|error| UnusableFile::unread(path, error)))
}

fn submission<'t>(
    root: &Path,
    home: SubmitterFolder,
    table: &'t Table,
    option: Option<RoundName>,
) -> std::io::Result<Subject<'t>> {
    let division = match home.division.as_str() {
        "closed" => Division::Closed,
        "open" => Division::Open,
        _ => Division::Network,
    };
    let mut tree = SubmissionTree { root: root.to_path_buf(), home };
    let mut results = entries_of(&tree, table)?;
    let shown = tree::detect_layout(&tree.path(&tree.home.root()));
    let (mut round, mut judged_round) = round::round(table, option, &results, shown);
    let layout = round.map(|round| round.layout).filter(|_| shown.is_none());
    if let Some(layout) = layout.filter(|layout| *layout != tree.home.layout) {
        // If the folders do not show the layout, the round determines it.
        let SubmitterFolder { division, submitter, .. } = &tree.home;
        tree.home = tree::find_home(root, division, submitter, layout);
        results = entries_of(&tree, table)?;
        (round, judged_round) = round::round(table, option, &results, Some(layout));
    }
    let (systems, idle_systems) = systems(&tree, &results);
    for entry in &mut results {
        if is_of_edge(entry, &systems, round) {
            entry.benchmark = None;
        }
    }
    let subject = without_tree(table, (round, judged_round), division, results);
    Ok(Subject { tree: Some(tree), systems, idle_systems, ..subject })
}

fn entries_of<'t>(
    tree: &SubmissionTree,
    table: &'t Table,
) -> std::io::Result<Vec<ResultEntry<'t>>> {
    let places = tree::list_results(&tree.root, &tree.home)?.into_iter();
    Ok(places.map(|place| entry(tree, place, table)).collect())
}

/// Returns true if a result belongs to the edge suite. The Network division and its table have no
/// edge suite.
fn is_of_edge(entry: &ResultEntry, systems: &[System], round: Option<&Round>) -> bool {
    let is_its = |system: &&System| entry.system() == Some(&system.name);
    let kind = systems.iter().find(is_its).and_then(|system| system.text("system_type"));
    let kind = kind.unwrap_or_default();
    let is_in_round =
        |benchmark: &Benchmark| round.is_none_or(|round| benchmark.rounds.contains(&round.name));
    let is_network = entry.tree.as_ref().is_none_or(|place| place.home.division == "network");
    let has_scenario = |benchmark: &Benchmark| {
        entry.scenario.is_none_or(|scenario| benchmark.scenarios.contains(&scenario))
    };
    let is_of_both = |benchmark: &Benchmark| is_in_round(benchmark) && has_scenario(benchmark);
    match kind.as_str() {
        _ if is_network => false,
        "edge" => true,
        "datacenter,edge" | "edge,datacenter" => !entry.benchmark.is_some_and(is_of_both),
        _ => false,
    }
}

/// Returns the systems with results, and the paths of the descriptions of all other systems.
fn systems(tree: &SubmissionTree, results: &[ResultEntry]) -> (Vec<System>, Vec<String>) {
    let names: BTreeSet<_> = results.iter().filter_map(ResultEntry::system).collect();
    let folder = tree.path(&format!("{}/systems", tree.home.root()));
    let described = entries(&folder).unwrap_or_default();
    let described = described.iter().filter_map(|(name, _)| name.strip_suffix(".json"));
    let idle = described.filter(|name| !names.contains(name));
    let idle = idle.map(|name| tree.home.system_json(name)).collect();
    let system = |name: &str| {
        let place = tree.home.system_json(name);
        let json = read_object(&tree.path(&place));
        System { name: name.to_owned(), place, json }
    };
    (names.into_iter().map(system).collect(), idle)
}

fn entry<'t>(tree: &SubmissionTree, place: ResultPaths, table: &'t Table) -> ResultEntry<'t> {
    let logged = |kind: RunKind, folder: String, run: &str| {
        let path = tree.path(&folder);
        RunFiles {
            logs: Some(Logs::read(&path)),
            kind,
            place: folder,
            folder: path,
            record_place: place.record(run),
            record: record(&tree.path(&place.record(run))),
        }
    };
    let mut runs = vec![
        logged(RunKind::Performance, place.performance(), "performance"),
        logged(RunKind::Accuracy, place.accuracy(), "accuracy"),
    ];
    let digests = place.record("digests");
    if let Some(record) = record(&tree.path(&digests)) {
        runs.push(RunFiles {
            kind: RunKind::Digests,
            place: digests.clone(),
            folder: PathBuf::new(),
            record_place: digests,
            record: Some(record),
            logs: None,
        });
    }
    for test in Test::ALL {
        let name = test.name();
        if !tree.path(&place.compliance(name)).is_dir() {
            continue;
        }
        let mut run = logged(RunKind::Test(test), place.compliance_performance(name), name);
        if !test.compares_speed() && !run.folder.is_dir() {
            // The official checker requires no logs of these tests.
            run.logs = None;
        }
        runs.push(run);
    }
    let is_interactive = place.scenario.eq_ignore_ascii_case(INTERACTIVE);
    let variant = table.variant_of(&place.benchmark).filter(|_| is_interactive);
    let (name, scenario) = match variant {
        Some(variant) => (variant.name.clone(), Some(Scenario::Server)),
        None => (place.benchmark.clone(), Scenario::of_official_name(&place.scenario)),
    };
    let mut entry = ResultEntry {
        place: place.results(),
        benchmark: of_division(table, &place.home.division, &name),
        name,
        scenario,
        measurements: Some(measurements(tree, &place)),
        runs,
        tree: Some(place),
    };
    set_aside(&mut entry);
    entry
}

/// Returns the division's benchmark with this name; `None` if the division has no such benchmark.
/// N1 reports that, and the other rules judge nothing.
fn of_division<'t>(table: &'t Table, division: &str, name: &str) -> Option<&'t Benchmark> {
    let is_there =
        |benchmark: &&Benchmark| division == "open" || benchmark.suite == Suite::Datacenter;
    table.find(name).filter(is_there)
}

/// Reads the measurements file of a result, under any of the names that the official checkers
/// accept. The error is the path of the file and the reason.
fn measurements(
    tree: &SubmissionTree,
    place: &ResultPaths,
) -> Result<Measurements, (String, String)> {
    let folder = place.measurements();
    let is_one = |name: &str| match place.home.layout {
        Layout::A => name.starts_with(&place.system) && name.ends_with(".json"),
        Layout::B => name == "measurements.json",
    };
    let inside = entries(&tree.path(&folder)).unwrap_or_default();
    let Some((name, path)) = inside.iter().find(|(name, _)| is_one(name)) else {
        return Err((place.measurements_json(), MISSING.into()));
    };
    let place = format!("{folder}/{name}");
    match read_object(path) {
        Ok(json) => Ok((place, json)),
        Err(why) => Err((place, why)),
    }
}
