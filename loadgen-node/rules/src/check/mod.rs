//! The MUSTs N1 to N38 over a run or a submission.
//!
//! [`check`] reads all of it once (`read.rs`, `checked_folder.rs`), lets every rule judge it, and returns a [`Report`] with at
//! least one finding for each rule. The files are by subject: which rule is judged where stands in the first line of each.
//! A file says once which rule it judges at which place (`findings.rs`), then what breaks the rule there, and
//! last what it means that nothing did. What is asked before a run, too, is judged in `judge/`.

mod audit;
mod bandwidth;
mod bindings;
mod bytes;
mod checked_folder;
mod compliance_tests;
mod configuration;
mod construction;
mod contents;
mod description;
mod diagram;
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
mod latencies;
mod likeness;
mod links;
mod logs;
mod machines;
mod made_again;
mod measured;
mod measurements;
mod memories;
mod modes;
#[cfg(test)]
mod mutations;
mod names;
mod osi;
mod prepared;
mod programs;
mod protocol;
mod purposes;
mod quality;
mod read;
mod readme;
mod recorded;
mod releases;
mod report;
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
mod verified;
mod versions;
mod wire_contract;

use std::path::{Path, PathBuf};

pub use report::Report;
pub(crate) use set_aside::UNJUDGED;

use crate::{
    Grouped, Outcome, Rule,
    book::Table,
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
    /// It is none of the three.
    #[error(
        "{}: this is no run folder (with result.json), no submission (with network/ or open/), and no submitter's folder \
         inside of one (with results/ and systems/)",
        .0.display()
    )]
    Unknown(PathBuf),
    /// A division without submitters.
    #[error("{}: network/ and open/ have no submitter's folder in them", .0.display())]
    Empty(PathBuf),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

/// Checks a run folder, a submission, or a submitter's folder in one, against the rules.
///
/// `against` is another one, such as that of an earlier round: for an audit their networking must be the same (N37).
///
/// What is broken or missing in what is checked is in the report, all of it.
///
/// # Errors
///
/// When a folder is not there, cannot be read, or is none of the three.
pub fn check(dir: &Path, table: &Table, against: Option<&Path>) -> Result<Report, CheckError> {
    let subjects = read_all(dir, table)?;
    let others = against.map(|other| read_all(other, table)).transpose()?;
    let others = others.as_ref().map(|others| others.subjects.as_slice());
    let mut report =
        Report { subject: dir.display().to_string(), findings: Vec::new(), waived: Vec::new() };
    for (place, subject) in subjects.subjects.iter().enumerate() {
        let root = subjects.root.as_deref().filter(|_| place == 0);
        let (findings, waived) = judge(subject, others, root);
        report.findings.extend(findings);
        report.waived.extend(waived);
    }
    report.findings.sort_by_key(|finding| (finding.rule, std::cmp::Reverse(finding.outcome)));
    if let Some(round) = subjects.subjects.first().and_then(|subject| subject.round) {
        report.subject += &format!(" (round {})", round.name);
    }
    if subjects.root.is_some() && dir.join("closed").is_dir() {
        report.subject += "; closed/ is not checked: the official checker judges that division";
    }
    Ok(report)
}

/// All that a folder holds.
struct Subjects<'t> {
    /// The root, where the folder is a whole tree.
    root: Option<PathBuf>,
    subjects: Vec<Subject<'t>>,
}

fn read_all<'t>(dir: &Path, table: &'t Table) -> Result<Subjects<'t>, CheckError> {
    if !dir.is_dir() {
        return Err(CheckError::NoFolder(dir.into()));
    }
    if read::is_run(dir) {
        return Ok(Subjects { root: None, subjects: vec![read::run(dir, table)] });
    }
    if DIVISIONS.iter().any(|division| dir.join(division).is_dir()) {
        let homes = list_homes(dir)?.into_iter().filter(|home| home.division != "closed");
        let subjects: Vec<_> =
            homes.map(|home| read::home(dir, home, table)).collect::<Result<_, _>>()?;
        if subjects.is_empty() {
            return Err(CheckError::Empty(dir.into()));
        }
        return Ok(Subjects { root: Some(dir.into()), subjects });
    }
    let (root, home) = submitter(dir)?.ok_or_else(|| CheckError::Unknown(dir.into()))?;
    Ok(Subjects { root: None, subjects: vec![read::home(&root, home, table)?] })
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

/// What is found, and what only the Network division asks for.
fn judge(
    subject: &Subject,
    others: Option<&[Subject]>,
    root: Option<&Path>,
) -> (Vec<Grouped>, Vec<Grouped>) {
    let mut found = Findings::default();
    set_aside::judge(subject, &mut found);
    suite::judge(subject, &mut found);
    quality::judge(subject, &mut found);
    engines::judge(subject, &mut found);
    same_system::judge(subject, &mut found);
    bindings::judge(subject, &mut found);
    recorded::judge(subject, &mut found);
    given::judge(subject, &mut found);
    prepared::judge(subject, &mut found);
    programs::judge(subject, &mut found);
    tallies::judge(subject, &mut found);
    purposes::judge(subject, &mut found);
    releases::judge(subject, &mut found);
    separation::judge(subject, &mut found);
    fabric::judge(subject, &mut found);
    osi::judge(subject, &mut found);
    description::judge(subject, &mut found);
    bytes::judge(subject, &mut found);
    construction::judge(subject, &mut found);
    elapsed::judge(subject, &mut found);
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
    validity::judge(subject, &mut found);
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
    division::judge(subject, &mut found);
    if let Some(tree) = &subject.tree {
        found.relative_to(&tree.root);
    }
    let findings = found.settled();
    if subject.is_open() { open(findings) } else { (findings, Vec::new()) }
}

/// Takes out what the Open division does not ask for (rules, section 4.1.2).
fn open(findings: Vec<Grouped>) -> (Vec<Grouped>, Vec<Grouped>) {
    let is_waived = |finding: &Grouped| {
        finding.outcome == Outcome::Fail && !division::OPEN.contains(&finding.rule)
    };
    let (waived, mut kept): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_waived);
    for rule in Rule::all() {
        let of_rule = waived.iter().filter(|finding| finding.rule == rule);
        let broken: usize = of_rule.map(|finding| finding.places.len().max(1)).sum();
        if broken > 0 {
            let text =
                format!("the Open division does not ask for it; it is broken in {broken} places");
            kept.push(Grouped { rule, outcome: Outcome::Pass, places: Vec::new(), text });
        }
    }
    (kept, waived)
}
