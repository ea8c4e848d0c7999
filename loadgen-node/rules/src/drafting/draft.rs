//! Drafts a submission: generates its files from settings, runs and machines, and collects the
//! faults of the settings.

use std::path::Path;

use super::{
    documents,
    folder::{FileTree, is_folder_name},
    gap::{Gap, Problems},
    named_files::NamedFiles,
    results::{self, LoadedResult, RecordedResult, SubmissionContext},
    runs,
    sources::{self, SourceFile},
    submission_toml::SubmissionSettings,
    tree_builder,
};
use crate::{
    book::Table,
    record::{Division, RunResult},
    tree::{Layout, SubmitterFolder, documents as names},
};

/// A submission before its check.
pub(crate) struct Draft {
    pub(crate) tree: FileTree,
    pub(crate) home: SubmitterFolder,
    /// Faults of the settings and of the files that they name.
    pub(crate) gaps: Vec<Gap>,
    /// Paths in the tree with their sources. A path is a folder or a file; its source is the run
    /// folder or the file that it was made from.
    pub(crate) runs: Vec<(String, String)>,
    pub(crate) rehearsed: Vec<String>,
    /// Names of the runs that were made for the Open division.
    pub(crate) open: Vec<String>,
}

impl Draft {
    /// Adds a document, given by its name and its text.
    pub(crate) fn note(&mut self, (name, text): (&str, String)) {
        self.tree.insert(self.home.document(name), text.into_bytes());
    }
}

/// Generates the files of a submission, and collects all faults of the settings. Paths in the
/// settings are relative to `base`.
pub(crate) fn draft(
    settings: &SubmissionSettings,
    base: &Path,
    table: &Table,
    sources: &[SourceFile<'_>],
) -> Draft {
    let mut problems = Problems::of(&settings.file, &settings.todos);
    let (home, system) = home(settings, table, &mut problems);
    let round = settings.round.and_then(|name| table.round(name));
    let common = SubmissionContext { base, table, round, home: &home, system: &system };
    let (mut tree, mut in_tree) = (FileTree::new(), settings.clone());
    NamedFiles { base, home: &home, tree: &mut tree, problems: &mut problems }
        .documents(&mut in_tree);
    let settings = &in_tree;
    if settings.results.is_empty() {
        problems.fault("there is no [[result]]; add one for each benchmark and scenario");
    }
    let results = settings.results.iter().zip(1..);
    let results: Vec<_> = results
        .filter_map(|(settings, number)| results::load(&common, settings, number, &mut problems))
        .collect();
    check_once(&results, &mut problems);
    runs::check_one_system(results.iter().flat_map(LoadedResult::runs), &mut problems);
    let is_of_round = check_round(settings, table, &results, &mut problems);
    documents::check_retraining(settings, &mut problems);
    if settings.division == Some(Division::Open) {
        problems.need(
            &settings.reason,
            "the division is open; write reason: why the submission is in this division",
        );
    }

    let benchmarks: Vec<_> = results.iter().map(|result| result.place.benchmark.as_str()).collect();
    sources::put(sources, &home, &benchmarks, &mut tree, &mut problems);
    for result in &results {
        NamedFiles { base, home: &home, tree: &mut tree, problems: &mut problems }
            .runs(result, settings);
    }
    tree.insert(home.document(names::SETTINGS), settings.in_tree().into_bytes());
    let recorded: Vec<_> = results.iter().map(LoadedResult::recorded).collect();
    let round = settings.round.filter(|_| is_of_round);
    tree.extend(tree_builder::build(settings, round, &home, &system, &recorded, &mut problems));
    let runs = results.iter().flat_map(LoadedResult::places).collect();
    let named = |is_it: fn(&RunResult) -> bool| {
        let all = results.iter().flat_map(LoadedResult::runs).filter(move |run| is_it(&run.result));
        all.map(|run| run.name.clone()).collect()
    };
    let rehearsed = named(|result| result.rehearsal);
    let open = named(|result| result.division == Division::Open);
    Draft { tree, home, gaps: problems.gaps, runs, rehearsed, open }
}

/// Drafts the files again that the settings in a tree and the records of its runs determine.
pub(crate) fn redraft(
    settings: &SubmissionSettings,
    home: &SubmitterFolder,
    system: &str,
    results: &[RecordedResult<'_>],
) -> FileTree {
    let mut problems = Problems::default();
    tree_builder::build(settings, settings.round, home, system, results, &mut problems)
}

/// Returns the submitter's folder in the tree, and the name of the system. Names that are missing or
/// invalid are faults; the runs are checked all the same, in folders with other names.
fn home(
    settings: &SubmissionSettings,
    table: &Table,
    problems: &mut Problems,
) -> (SubmitterFolder, String) {
    let submitter = problems.need(&settings.submitter, "write submitter, the name of your folder");
    let mut missing = |is_missing: bool, what: &str| {
        if is_missing {
            problems.fault(what);
        }
    };
    missing(settings.division.is_none(), "write division, \"network\", \"closed\" or \"open\"");
    missing(settings.status.is_none(), "write status: \"available\", \"preview\" or \"rdi\"");
    missing(settings.round.is_none(), "write round, such as \"v5.0\"");
    let id = settings.system.get("id").and_then(|id| id.as_str()).map(str::to_owned);
    let id = problems.need(&id, "[system] write id, the name of the system's folder").to_owned();
    for (key, name) in [("submitter", submitter), ("[system] id", &id)] {
        if !name.is_empty() && !is_folder_name(name) {
            problems.fault(format!(
                "{key} `{name}`: write a name without spaces, slashes or a leading dot"
            ));
        }
    }
    // The official checker takes the first file whose name begins with the system's name as the
    // measurements file.
    let records = ["performance", "accuracy", "digests", "TEST0"];
    if !id.is_empty() && records.iter().any(|record| record.starts_with(&id)) {
        problems.fault(format!(
            "[system] id `{id}`: netdiv's own files begin like this; write another"
        ));
    }
    let division = settings.division.unwrap_or_default();
    if settings.division == Some(Division::Exploratory) {
        problems.fault(format!("division `{division}`: write \"network\", \"closed\" or \"open\""));
    }
    let round = settings.round.and_then(|name| table.round(name));
    if let (Some(name), None) = (settings.round, round) {
        problems.fault(format!("round `{name}`: unknown; write one of {}", table.round_names()));
    }
    let layout = round.map_or(Layout::A, |round| round.layout);
    let usable = |name: &str, other: &str| {
        let name = if is_folder_name(name) { name } else { other };
        name.to_owned()
    };
    let submitter = usable(submitter, "submitter");
    (SubmitterFolder::new(layout, division.word(), &submitter), usable(&id, "system"))
}

fn check_once(results: &[LoadedResult<'_>], problems: &mut Problems) {
    for (place, result) in results.iter().enumerate() {
        if results[..place].iter().any(|other| other.name == result.name) {
            problems.fault(format!("[[result]] {} is listed twice", result.name));
        }
    }
}

/// Compares the round in the settings with the round of the runs. If they differ, adds a fault and
/// returns false; the measurements files then name no round.
fn check_round(
    settings: &SubmissionSettings,
    table: &Table,
    results: &[LoadedResult<'_>],
    problems: &mut Problems,
) -> bool {
    let Some(wanted) = settings.round.and_then(|name| table.round(name)) else { return false };
    let runs = || results.iter().flat_map(LoadedResult::runs);
    let rounds: Vec<_> =
        runs().map(|run| table.round_of_seeds(|setting| run.seed(setting))).collect();
    let [Some(first), others @ ..] = rounds.as_slice() else { return true };
    if first.name == wanted.name || others.iter().any(|other| *other != Some(first)) {
        return true;
    }
    let mut versions: Vec<_> = runs().map(|run| run.loadgen_version()).collect();
    versions.dedup();
    problems.fault(format!(
        "round is {}, and the runs were made with LoadGen {}, which is of round {}; write round = \"{}\", or {} and run again",
        wanted.name,
        versions.join(" and "),
        first.name,
        first.name,
        table.build_for(wanted)
    ));
    false
}
