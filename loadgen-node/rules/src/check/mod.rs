//! The MUSTs N1 to N38 over a run or a submission.
//!
//! [`check`] reads all of it once (`read.rs`, `checked_folder.rs`), lets every rule judge it, and returns a [`Report`] with at
//! least one finding for each rule and submitter. The files are by subject: which rule is judged where stands in the first line of each.
//! A file says once which rule it judges at which place (`findings.rs`), then what breaks the rule there, and
//! last what it means that nothing did. What is asked before a run, too, is judged in `judge/`.

mod answers;
mod audit;
mod bandwidth;
mod bindings;
mod bytes;
mod checked_folder;
mod clocks;
mod complete;
mod compliance_tests;
mod configuration;
mod construction;
mod contents;
mod data_set;
mod description;
mod division;
mod documents;
mod elapsed;
mod encoding;
mod engines;
mod fabric;
mod files;
mod findings;
mod given;
mod interfaces;
mod issued;
mod judged;
mod latencies;
mod links;
mod logs;
mod machines;
mod made_again;
mod measured;
mod measurements;
mod memories;
mod modes;
mod names;
mod node_settings;
mod osi;
mod prepared;
mod programs;
mod protocol;
mod purposes;
mod quality;
mod read;
mod readme;
mod recorded;
mod regenerated;
mod releases;
mod report;
mod requested;
mod round;
mod same_machines;
mod same_system;
mod schedule;
mod separation;
mod set_aside;
mod shared_machines;
mod suite;
mod switches;
mod system_json;
mod tallies;
#[cfg(test)]
mod tests;
mod throughput;
mod tokens;
mod topology;
mod unchanged;
mod unusable;
mod used_settings;
mod validity;
mod verdict_parts;
mod verified;
mod versions;
mod ways;
mod wire_contract;

use std::path::{Path, PathBuf};

pub use judged::{JudgedDivision, JudgedRound, RoundSource};
pub use report::{Judgement, Report};
pub(crate) use set_aside::UNJUDGED;

use crate::{
    book::{RoundName, Table},
    tree::{DIVISIONS, Home, list_homes},
};
use checked_folder::Subject;
use findings::Findings;

/// Why nothing can be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no such folder.
    #[error("{}: there is no such folder", .0.display())]
    NoFolder(PathBuf),
    /// The folder is neither a run, nor a tree, nor a submitter's folder in one.
    #[error(
        "{}: this is neither a run (with result.json or mlperf_log_detail.txt), nor a submission (with closed/, network/ or \
         open/), nor a submitter's folder in one (DIVISION/SUBMITTER, with results/ or systems/): name one of these",
        .0.display()
    )]
    Unknown(PathBuf),
    /// Divisions without submitters.
    #[error("{}: closed/, network/ and open/ have no submitter's folder in them", .0.display())]
    Empty(PathBuf),
    /// The folder cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

/// Options of a check, beside the table.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Another submission or run, such as that of an earlier round: for an audit their networking must be the same (N37).
    pub against: Option<&'a Path>,
    /// The round to judge by, in place of the one that the folder shows.
    pub round: Option<RoundName>,
}

/// Checks a run folder, a submission, or a submitter's folder in one, against the rules.
///
/// What is broken or missing in what is checked is in the report, all of it.
///
/// # Errors
///
/// When a folder does not exist, cannot be read, or is none of the three.
pub fn check(dir: &Path, table: &Table, options: &Options) -> Result<Report, CheckError> {
    let Subjects { root, subjects } = read_all(dir, table, options.round)?;
    let others = options.against.map(|other| read_all(other, table, None)).transpose()?;
    let others = others.as_ref().map(|others| others.subjects.as_slice());
    let judgements = subjects.iter().enumerate().map(|(place, subject)| {
        let root = root.as_deref().filter(|_| place == 0);
        judge(subject, others, root)
    });
    Ok(Report { subject: dir.display().to_string(), judgements: judgements.collect() })
}

/// The documents about machines and bandwidth that `submission` would write of the runs in a tree, each with its path. `texts` are
/// those that the submitter has written. For tests.
#[doc(hidden)]
pub fn documents(root: &Path, texts: [&str; 2]) -> std::io::Result<Vec<(String, String)>> {
    let table = Table::builtin().map_err(std::io::Error::other)?;
    let Subjects { subjects, .. } = read_all(root, table, None).map_err(std::io::Error::other)?;
    let mut all = Vec::new();
    for subject in &subjects {
        let Some(tree) = &subject.tree else { continue };
        let papers = made_again::papers(subject, tree, texts).into_iter();
        let bandwidth = made_again::report_on_bandwidth(subject);
        let bandwidth = bandwidth.map(|text| (crate::tree::documents::BANDWIDTH, text));
        all.extend(papers.chain(bandwidth).map(|(name, text)| (tree.home.document(name), text)));
    }
    Ok(all)
}

/// All that a folder holds.
struct Subjects<'t> {
    /// The root, where the folder is a whole tree.
    root: Option<PathBuf>,
    subjects: Vec<Subject<'t>>,
}

fn read_all<'t>(
    dir: &Path,
    table: &'t Table,
    round: Option<RoundName>,
) -> Result<Subjects<'t>, CheckError> {
    if !dir.is_dir() {
        return Err(CheckError::NoFolder(dir.into()));
    }
    if read::is_run(dir) {
        return Ok(Subjects { root: None, subjects: vec![read::run(dir, table, round)] });
    }
    if DIVISIONS.iter().any(|division| dir.join(division).is_dir()) {
        let homes = list_homes(dir)?.into_iter();
        let subjects: Vec<_> =
            homes.map(|home| read::home(dir, home, table, round)).collect::<Result<_, _>>()?;
        if subjects.is_empty() {
            return Err(CheckError::Empty(dir.into()));
        }
        return Ok(Subjects { root: Some(dir.into()), subjects });
    }
    let (root, home) = submitter(dir)?.ok_or_else(|| CheckError::Unknown(dir.into()))?;
    Ok(Subjects { root: None, subjects: vec![read::home(&root, home, table, round)?] })
}

/// The tree around a submitter's folder.
fn submitter(dir: &Path) -> std::io::Result<Option<(PathBuf, Home)>> {
    if !(dir.join("results").is_dir() || dir.join("systems").is_dir()) {
        return Ok(None);
    }
    let dir = dir.canonicalize()?;
    let Some(root) = dir.parent().and_then(Path::parent) else { return Ok(None) };
    let homes = list_homes(root)?;
    let home = homes.into_iter().find(|home| root.join(home.root()) == dir);
    Ok(home.map(|home| (root.to_path_buf(), home)))
}

/// Judges one subject, as its division and its round ask for it.
fn judge(subject: &Subject, others: Option<&[Subject]>, root: Option<&Path>) -> Judgement {
    let mut found = Findings::default();
    set_aside::judge(subject, &mut found);
    round::judge(subject, &mut found);
    suite::judge(subject, &mut found);
    quality::judge(subject, &mut found);
    engines::judge(subject, &mut found);
    same_system::judge(subject, &mut found);
    bindings::judge(subject, &mut found);
    same_machines::judge(subject, &mut found);
    recorded::judge(subject, &mut found);
    given::judge(subject, &mut found);
    ways::judge(subject, &mut found);
    node_settings::judge(subject, &mut found);
    prepared::judge(subject, &mut found);
    data_set::judge(subject, &mut found);
    programs::judge(subject, &mut found);
    tallies::judge(subject, &mut found);
    purposes::judge(subject, &mut found);
    releases::judge(subject, &mut found);
    separation::judge(subject, &mut found);
    fabric::judge(subject, &mut found);
    osi::judge(subject, &mut found);
    description::judge(subject, &mut found);
    bytes::judge(subject, &mut found);
    answers::judge(subject, &mut found);
    construction::judge(subject, &mut found);
    complete::judge(subject, &mut found);
    clocks::judge(subject, &mut found);
    elapsed::judge(subject, &mut found);
    issued::judge(subject, &mut found);
    throughput::judge(subject, &mut found);
    tokens::judge(subject, &mut found);
    latencies::judge(subject, &mut found);
    names::judge(subject, &mut found);
    shared_machines::judge(subject, &mut found);
    protocol::judge(subject, &mut found);
    documents::judge(subject, &mut found);
    interfaces::judge(subject, &mut found);
    configuration::judge(subject, &mut found);
    memories::judge(subject, &mut found);
    versions::judge(subject, &mut found);
    encoding::judge(subject, &mut found);
    bandwidth::judge(subject, &mut found);
    modes::judge(subject, &mut found);
    schedule::judge(subject, &mut found);
    requested::judge(subject, &mut found);
    validity::judge(subject, &mut found);
    verdict_parts::judge(subject, &mut found);
    compliance_tests::judge(subject, &mut found);
    files::judge(subject, &mut found);
    if let Some(root) = root {
        files::judge_root(root, &mut found);
    }
    contents::judge(subject, &mut found);
    links::judge(subject, &mut found);
    unchanged::judge(subject, &mut found);
    used_settings::judge(subject, &mut found);
    readme::judge(subject, &mut found);
    system_json::judge(subject, &mut found);
    audit::judge(subject, others, &mut found);
    round::without_round(subject, &mut found);
    division::judge(subject, &mut found);
    if let Some(tree) = &subject.tree {
        found.relative_to(&tree.root);
    }
    let (findings, waived) = division::waive(subject.division, found.settled());
    Judgement {
        subject: subject.tree.as_ref().map_or_else(String::new, |tree| tree.home.root()),
        division: subject.division,
        round: subject.judged_round.clone(),
        findings,
        waived,
    }
}
