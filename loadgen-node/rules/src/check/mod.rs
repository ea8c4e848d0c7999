//! Checks a run or a submission against the MUSTs N1 to N38.
//!
//! [`check`] reads everything once (`subject/`), applies each rule (`rules/`), and returns a
//! [`Report`] with at least one finding for each rule and submitter.

mod report;
#[cfg(test)]
mod tests;

use std::{path::Path, rc::Rc};

pub(crate) use crate::subject::unusable_files::UNJUDGED;
pub use crate::subject::{JudgedRound, RoundSource, read::CheckError};
pub use report::{Judgement, Report};

use crate::{
    Division, GroupedFinding, Outcome, Rule,
    book::{RoundName, Table},
    drafting::folder::FileTree,
    rules::{self, redraft},
    subject::{AllFindings, Subject, read, round, unusable_files},
};

/// Options of a check, besides the folder and the table.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Path of another submission or run, such as the submission to an earlier round. An audit
    /// requires the same networking in both (N37).
    pub against: Option<&'a Path>,
    /// Round whose rules apply, instead of the round that the folder indicates.
    pub round: Option<RoundName>,
}

/// Checks a run folder, a submission, or a submitter's folder in a submission against the rules.
///
/// The report contains a finding about everything that is broken or missing.
///
/// # Errors
///
/// Fails if the folder does not exist, cannot be read, is neither a run folder nor a submission nor
/// a submitter's folder, or has no submitter. Also fails if this is true of [`Options::against`].
pub fn check(dir: &Path, table: &Table, options: &Options) -> Result<Report, CheckError> {
    let mut subjects = read::subjects(dir, table, options.round)?;
    let against = options.against.map(|other| read::subjects(other, table, None)).transpose()?;
    let against: Option<Rc<[Subject]>> = against.map(Rc::from);
    for subject in &mut subjects {
        subject.against.clone_from(&against);
    }
    let judgements = subjects.iter().map(judge).collect();
    Ok(Report { subject: dir.display().to_string(), judgements })
}

/// Drafts the files of a tree again that its `submission.toml` and its runs determine. Only for
/// tests.
#[doc(hidden)]
pub fn drafted(root: &Path, table: &Table) -> Result<FileTree, CheckError> {
    Ok(read::subjects(root, table, None)?.iter().flat_map(redraft::files).collect())
}

/// Judges a run or a submitter's folder by the rules of its division and the figures of its round.
fn judge(subject: &Subject) -> Judgement {
    let mut found = AllFindings::default();
    unusable_files::judge(subject, &mut found);
    rules::judge(subject, &mut found);
    round::without_round(subject, &mut found);
    Rule::N38.judge(subject, &mut found);
    if let Some(tree) = &subject.tree {
        found.relative_to(&tree.root);
    }
    let (findings, waived) = waive(subject.division, found.into_grouped());
    Judgement {
        subject: subject.tree.as_ref().map_or_else(String::new, |tree| tree.home.root()),
        division: subject.division,
        round: subject.judged_round.clone(),
        findings,
        waived,
    }
}

/// Splits findings into two lists: first the findings that count, then the failures that the
/// division waives.
fn waive(
    division: Division,
    findings: Vec<GroupedFinding>,
) -> (Vec<GroupedFinding>, Vec<GroupedFinding>) {
    match division {
        Division::Closed => closed(findings),
        Division::Open => open_waived(findings),
        Division::Network | Division::Exploratory => (findings, Vec::new()),
    }
}

/// Replaces the findings about each rule that the Closed division does not require by a single pass
/// that names the waiver. Returns the lists of [`waive`].
fn closed(findings: Vec<GroupedFinding>) -> (Vec<GroupedFinding>, Vec<GroupedFinding>) {
    let (mut waived, mut kept): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| !finding.rule.is_in_closed());
    waived.retain(|finding| finding.outcome == Outcome::Fail);
    kept.extend(Rule::all().filter(|rule| !rule.is_in_closed()).map(|rule| GroupedFinding {
        rule,
        outcome: Outcome::Pass,
        places: Vec::new(),
        text: format!("not required in the Closed division: the rule is in {}", rule.source()),
    }));
    kept.sort_by_key(|finding| finding.rule);
    (kept, waived)
}

/// Moves the failures that the Open division waives (rules, section 4.1.2) to the second list, and
/// adds a pass for each of their rules. Returns the lists of [`waive`].
fn open_waived(findings: Vec<GroupedFinding>) -> (Vec<GroupedFinding>, Vec<GroupedFinding>) {
    let is_waived =
        |finding: &GroupedFinding| finding.outcome == Outcome::Fail && !finding.rule.is_in_open();
    let (waived, mut kept): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_waived);
    for rule in Rule::all() {
        let of_rule = waived.iter().filter(|finding| finding.rule == rule);
        let broken: usize = of_rule.map(|finding| finding.places.len().max(1)).sum();
        if broken > 0 {
            let text = format!("not required in the Open division; broken in {broken} places");
            kept.push(GroupedFinding { rule, outcome: Outcome::Pass, places: Vec::new(), text });
        }
    }
    kept.sort_by_key(|finding| (finding.rule, std::cmp::Reverse(finding.outcome)));
    (kept, waived)
}
