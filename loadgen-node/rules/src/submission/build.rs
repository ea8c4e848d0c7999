//! Puts a submission together.

use std::path::Path;

use super::{
    Tree, documents, is_folder_name,
    parts::Parts,
    problems::Problems,
    results::{self, Common, Loaded},
    rounds, runs,
    settings::Settings,
    sources::{self, sources_sha256},
    systems,
};
use crate::{
    Scenario,
    benchmarks::Table,
    tree::{Home, Layout},
};

/// The official checker takes no file that is larger, in bytes.
const MOST_BYTES: usize = 50 << 20;

/// Makes the tree.
///
/// `base` is the folder that paths of the settings start from, `sources` are the program's own: path and text. A
/// `rehearsal` may be made of runs that no submission can have; the tree then says so.
///
/// # Errors
///
/// Everything that stands against the submission, each with what to do.
pub fn build(
    settings: &Settings,
    base: &Path,
    table: &Table,
    sources: &[(&str, &str)],
    rehearsal: bool,
) -> Result<Tree, Vec<String>> {
    let mut problems = Problems::default();
    let (home, system) = home(settings, table, &mut problems);
    let open = home.division == "open";
    let common = Common { base, table, sources_sha256: &sources_sha256(sources) };
    if settings.results.is_empty() {
        problems.fault("there is no [[result]]; add one for each benchmark and scenario");
    }
    let results = settings.results.iter().zip(1..);
    let results: Vec<_> = results
        .filter_map(|(settings, number)| results::load(&common, settings, number, &mut problems))
        .collect();
    check_results(&results, settings, table, &mut problems);
    documents::check_retraining(settings, &mut problems);
    if open {
        problems.need(&settings.reason, "the division is open; write reason, why it is");
    }

    let mut tree = Tree::new();
    let names: Vec<_> = results.iter().map(|result| result.benchmark_name.as_str()).collect();
    sources::put(sources, &home, &names, &mut tree, &mut problems);
    let mut parts = Parts {
        settings,
        base,
        home: &home,
        system: &system,
        results: &results,
        tree: &mut tree,
        problems: &mut problems,
    };
    parts.texts();
    for result in &results {
        parts.result(result);
    }
    match results.first() {
        Some(first) => parts.machines(&first.performance),
        // What the description lacks is worth knowing already.
        None => drop(systems::description(settings, &Default::default(), &mut problems)),
    }
    for (path, bytes) in tree.iter().filter(|(_, bytes)| bytes.len() > MOST_BYTES) {
        let megabytes = bytes.len() >> 20;
        problems.fault(format!("{path} has {megabytes} MiB; the official checker takes 50"));
    }
    let noted = problems.settle(open, rehearsal)?;
    let runs = results.iter().flat_map(Loaded::runs).filter(|run| run.result.rehearsal);
    let rehearsed: Vec<_> = runs.map(|run| run.name.as_str()).collect();
    documents::put_notes(settings, &home, rehearsal, &rehearsed, &noted, &mut tree);
    Ok(tree)
}

/// Where the submission lies, and the name of its system.
fn home(settings: &Settings, table: &Table, problems: &mut Problems) -> (Home, String) {
    let submitter = problems.need(&settings.submitter, "write submitter, the name of your folder");
    let division = problems.need(&settings.division, "write division, \"network\" or \"open\"");
    let what = "write status: \"available\", \"preview\" or \"rdi\"";
    let status = problems.need(&settings.status, what);
    let round = problems.need(&settings.round, "write round, such as \"v5.0\"");
    let id = settings.system.get("id").and_then(|id| id.as_str()).map(str::to_owned);
    let id = problems.need(&id, "[system] write id, the name of the system's folder").to_owned();
    for (key, name) in [("submitter", submitter), ("[system] id", &id)] {
        if !name.is_empty() && !is_folder_name(name) {
            problems.fault(format!(
                "{key} `{name}`: write a name without spaces, slashes and a dot in front"
            ));
        }
    }
    // The official checker takes the first file that starts with it for the measurements.
    let records = ["performance", "accuracy", "digests", "TEST0"];
    if !id.is_empty() && records.iter().any(|record| record.starts_with(&id)) {
        problems.fault(format!("[system] id `{id}`: files of ours begin so; write another"));
    }
    if !["", "network", "open"].contains(&division) {
        problems.fault(format!("division `{division}`: write \"network\" or \"open\""));
    }
    if !["", "available", "preview", "rdi"].contains(&status) {
        problems.fault(format!("status `{status}`: write \"available\", \"preview\" or \"rdi\""));
    }
    if !round.is_empty() && table.round(round).is_none() {
        let known: Vec<_> = table.rounds.iter().map(|round| round.name.as_str()).collect();
        problems.fault(format!("round `{round}`: the table has {}", known.join(", ")));
    }
    let layout = Layout::of_round(round).unwrap_or(Layout::A);
    let home = Home { layout, division: division.into(), submitter: submitter.into() };
    (home, id)
}

/// What is seen over all results: each once, of one system, with the scenarios that belong together.
fn check_results(
    results: &[Loaded<'_>],
    settings: &Settings,
    table: &Table,
    problems: &mut Problems,
) {
    for (place, result) in results.iter().enumerate() {
        if results[..place].iter().any(|other| other.name == result.name) {
            problems.fault(format!("[[result]] {} is there twice", result.name));
        }
    }
    let runs: Vec<_> = results.iter().flat_map(Loaded::runs).collect();
    runs::check_together(&runs, problems);
    if let Some(round) = settings.round.as_deref().and_then(|round| table.round(round)) {
        rounds::check(&runs, round, table, problems);
    }
    // The table has the scenarios of round v5.0; later ones have other lists.
    if settings.round.as_deref() != Some("v5.0") {
        return;
    }
    for benchmark in &table.benchmarks {
        let names = [benchmark.name.as_str(), benchmark.checker_name()];
        let is_it = |name: &String| names.contains(&name.trim());
        // Those whose runs cannot be read count as well.
        let of_it =
            settings.results.iter().filter(|result| result.benchmark.as_ref().is_some_and(is_it));
        let scenarios: Vec<Scenario> = of_it.filter_map(|result| result.scenario()).collect();
        for missing in benchmark.scenarios.iter().filter(|needed| !scenarios.contains(needed)) {
            if !scenarios.is_empty() {
                let text = format!("the scenario {} is missing", missing.official_name());
                problems.broken(32, &benchmark.name, text);
            }
        }
    }
}
