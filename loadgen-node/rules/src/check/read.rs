//! Reads what is to be checked: a run folder, a whole tree, or one submitter's folder of a tree.

use netdiv_words::Mode;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    checked_folder::{Entry, Kind, Measurements, Run, Subject, System, Tree, read_object},
    files::entries,
    logs::Logs,
    set_aside::set_aside,
    unusable::{MISSING, Unusable},
};
use crate::{
    Scenario,
    book::{Benchmark, Round, Table, Test},
    facts::files,
    judge::suite::outside,
    result::{Division, RunResult},
    tree::{self, DETAIL, Home, INTERACTIVE, Layout, Place},
};

/// Whether a folder is that of a run.
pub(super) fn is_run(dir: &Path) -> bool {
    dir.join(RunResult::FILE).is_file() || dir.join(DETAIL).is_file()
}

/// A run folder.
pub(super) fn run<'t>(dir: &Path, table: &'t Table) -> Subject<'t> {
    let record = record(&dir.join(RunResult::FILE));
    let result = record.as_ref().and_then(|record| record.as_ref().ok());
    let division = result.map_or(Division::Network, |result| result.division);
    let name = result.map_or_else(String::new, |result| result.benchmark.clone());
    let logs = Logs::read(dir);
    let detail = logs.detail.as_ref().ok();
    let kind = match result.map(|result| result.mode).or_else(|| detail?.mode()) {
        Some(Mode::Accuracy) => Kind::Accuracy,
        Some(Mode::Submission) => Kind::Submission,
        _ => Kind::Performance,
    };
    let scenario = result.map(|result| result.scenario).or_else(|| detail?.scenario());
    let run = Run {
        kind,
        place: ".".into(),
        folder: dir.to_path_buf(),
        record_place: RunResult::FILE.into(),
        record,
        logs: Some(logs),
    };
    let mut entry = Entry {
        place: String::new(),
        tree: None,
        benchmark: table.find(&name),
        name,
        scenario,
        measurements: None,
        runs: vec![run],
    };
    set_aside(&mut entry);
    let results = vec![entry];
    let round = round(table, &results, None);
    Subject {
        table,
        round,
        division,
        tree: None,
        systems: Vec::new(),
        idle_systems: Vec::new(),
        results,
    }
}

fn record(path: &Path) -> Option<Result<Box<RunResult>, Unusable>> {
    let read = || {
        let json = files::read(path).map_err(|error| error.to_string())?;
        RunResult::of(&json).map(Box::new)
    };
    path.exists().then(|| read().map_err(|error| Unusable::unread(path, error)))
}

/// The round whose seeds the logs have, or the first one of the layout.
fn round<'t>(table: &'t Table, results: &[Entry], layout: Option<Layout>) -> Option<&'t Round> {
    let details = || results.iter().flat_map(|entry| &entry.runs).filter_map(Run::detail);
    let has_seeds = |round: &&Round| {
        details().any(|log| round.seeds.unlike(|setting| log.seed(setting)).next().is_none())
    };
    let fits = |round: &&Round| layout.is_none_or(|layout| round.layout == layout);
    let rounds = || table.rounds.iter().filter(fits);
    rounds().find(has_seeds).or_else(|| rounds().next())
}

/// What one submitter hands in to one division.
pub(super) fn home<'t>(root: &Path, home: Home, table: &'t Table) -> std::io::Result<Subject<'t>> {
    let tree = Tree { root: root.to_path_buf(), home };
    let places = tree::list_results(root)?.into_iter().filter(|place| place.home == tree.home);
    let results: Vec<_> = places.map(|place| entry(&tree, place, table)).collect();
    let division = if tree.home.division == "open" { Division::Open } else { Division::Network };
    let (systems, idle_systems) = systems(&tree, &results);
    let round = round(table, &results, Some(tree.home.layout));
    Ok(Subject { table, round, division, tree: Some(tree), systems, idle_systems, results })
}

/// Those that have results, and descriptions of others.
fn systems(tree: &Tree, results: &[Entry]) -> (Vec<System>, Vec<String>) {
    let names: BTreeSet<_> = results.iter().filter_map(Entry::system).collect();
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

fn entry<'t>(tree: &Tree, place: Place, table: &'t Table) -> Entry<'t> {
    let logged = |kind: Kind, folder: String, run: &str| {
        let path = tree.path(&folder);
        Run {
            logs: Some(Logs::read(&path)),
            kind,
            place: folder,
            folder: path,
            record_place: place.record(run),
            record: record(&tree.path(&place.record(run))),
        }
    };
    let mut runs = vec![
        logged(Kind::Performance, place.performance(), "performance"),
        logged(Kind::Accuracy, place.accuracy(), "accuracy"),
    ];
    let digests = place.record("digests");
    if let Some(record) = record(&tree.path(&digests)) {
        runs.push(Run {
            kind: Kind::Digests,
            place: digests.clone(),
            folder: PathBuf::new(),
            record_place: digests,
            record: Some(record),
            logs: None,
        });
    }
    for test in [Test::Test01, Test::Test04, Test::Test06] {
        let name = test.name();
        if !tree.path(&place.compliance(name)).is_dir() {
            continue;
        }
        let mut run = logged(Kind::Test(test), place.compliance_performance(name), name);
        if test == Test::Test06 && !run.folder.is_dir() {
            // The official checker asks for no logs of it.
            run.logs = None;
        }
        runs.push(run);
    }
    let variant = table.variant_of(&place.benchmark).filter(|_| place.scenario == INTERACTIVE);
    let (name, scenario) = match variant {
        Some(variant) => (variant.name.clone(), Some(Scenario::Server)),
        None => (place.benchmark.clone(), Scenario::of_official_name(&place.scenario)),
    };
    let mut entry = Entry {
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

/// The benchmark, where the division has it; of another only N1 says something.
fn of_division<'t>(table: &'t Table, division: &str, name: &str) -> Option<&'t Benchmark> {
    let is_there = |_: &&Benchmark| division == "open" || outside(table, name).is_none();
    table.find(name).filter(is_there)
}

/// The measurements file, under any of the names that the official checkers take.
fn measurements(tree: &Tree, place: &Place) -> Result<Measurements, (String, String)> {
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
