//! N35: the files of a submission (submission rules).

use std::collections::BTreeMap;

use netdiv_node_common::words::Mode;

use crate::{
    Rule,
    book::{Round, Table},
    subject::{
        AllFindings, Findings, ResultEntry, RunFiles, RunKind, Subject, round::stated,
        unusable_files::may_stand_for,
    },
    tree::{Layout, ResultPaths},
};

mod contents;
mod files;
mod log_hashes;
mod measurements;
mod nameplates;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    of_round(subject, found);
    files::judge(subject, found);
    contents::judge(subject, found);
    log_hashes::judge(subject, found);
    nameplates::judge(subject, found);
}

/// Requires that the folders have the layout of the round, and that all measurements files name the
/// same round.
fn of_round(subject: &Subject, found: &mut Findings) {
    let (Some(tree), Some(round)) = (&subject.tree, subject.round) else { return };
    let Round { name, layout, .. } = round;
    let home = &tree.home;
    let mut at = found.at(home.root());
    if home.layout != *layout {
        at.fail(format!(
            "has the layout of {} ({}), and round {name} has {layout}: move the files",
            rounds_of(subject.table, home.layout),
            home.layout
        ));
    } else if tree.path(&home.code()).is_dir() && !home.code().ends_with(layout.code()) {
        let (code, wanted) = (home.code(), layout.code());
        at.fail(format!(
            "has its code in {code}, as in {}, and round {name} has it in {wanted}/: rename the folder",
            rounds_of(subject.table, if *layout == Layout::A { Layout::B } else { Layout::A })
        ));
    }
    let mut stated = stated(&subject.results);
    let Some((first, known)) = stated.next() else { return };
    for (place, other) in stated.filter(|(_, other)| *other != known) {
        found.fail(place, format!("round is {other}, and {first} has {known}: write the same"));
    }
}

/// Returns a text that names the rounds with a layout.
fn rounds_of(table: &Table, layout: Layout) -> String {
    let names = table.rounds.iter().filter(|round| round.layout == layout);
    format!(
        "rounds such as {}",
        names.map(|round| round.name.to_string()).collect::<Vec<_>>().join(", ")
    )
}

/// Finds runs that serve several purposes: pairs of runs with the same detail log, unless they may
/// share it. Pairs with a compliance test break N34, and other pairs N35. Two accuracy targets of
/// one model may share their runs: the official preparation tool copies the results of the stricter
/// target (`preprocess_submission.py`).
pub(super) fn judge_purposes(subject: &Subject, found: &mut AllFindings) {
    if subject.tree.is_none() {
        return;
    }
    let mut known: BTreeMap<String, Vec<(&ResultEntry, &RunFiles)>> = BTreeMap::new();
    // An unusable log is a separate finding.
    let is_usable = |run: &RunFiles| run.logs.as_ref().is_none_or(|logs| logs.detail.is_ok());
    for (entry, run) in subject.runs().filter(|(_, run)| is_usable(run)) {
        let Some(hash) = run.detail_sha256() else { continue };
        let others = known.entry(hash).or_default();
        let is_allowed = |of: &ResultEntry, other: &RunFiles| {
            (std::ptr::eq(of, entry) && are_submission_halves(other, run))
                || (other.kind == run.kind
                    && (are_two_targets(of, entry) || is_inferred(subject, of, entry)))
        };
        let other = others.iter().find(|(of, other)| !is_allowed(of, other));
        if let Some((_, other)) = other {
            let rule = if run.is_test() || other.is_test() { Rule::N34 } else { Rule::N35 };
            let text = format!(
                "has the detail log of {}: one run serves one purpose, so make another run",
                other.place
            );
            found.of(rule).fail(&run.place, text);
        }
        others.push((entry, run));
    }
}

/// Returns true if the official tool may have inferred one result from the run of the other: in the
/// edge suite, the run of one scenario may stand for another scenario (`preprocess_submission.py`).
fn is_inferred(subject: &Subject, one: &ResultEntry, other: &ResultEntry) -> bool {
    let scenarios = one.scenario.zip(other.scenario);
    subject.is_of_edge(one)
        && one.system() == other.system()
        && one.name == other.name
        && scenarios
            .is_some_and(|(one, other)| may_stand_for((one, other)) || may_stand_for((other, one)))
}

/// Returns true if two results have the same model, system and scenario, and differ in the accuracy
/// target.
fn are_two_targets(one: &ResultEntry, other: &ResultEntry) -> bool {
    // The target is a percentage of the reference's accuracy, such as 99 and 99.9, or 95 and 99.
    let target = |name: &str| {
        let (model, target) = name.rsplit_once('-')?;
        let percent = target.parse::<f64>().ok().filter(|percent| (90.0..100.0).contains(percent));
        percent.map(|percent| (model.to_owned(), percent))
    };
    let (Some(one), Some(other)) = (&one.tree, &other.tree) else { return false };
    let targets = target(&one.benchmark).zip(target(&other.benchmark));
    let is_alike = |one: &ResultPaths, other: &ResultPaths| {
        one.system == other.system && one.scenario.eq_ignore_ascii_case(&other.scenario)
    };
    is_alike(one, other)
        && targets.is_some_and(|((one, first), (other, second))| one == other && first != second)
}

/// Returns true if two runs are the two halves of a run in mode `submission`.
fn are_submission_halves(one: &RunFiles, other: &RunFiles) -> bool {
    let is_half = |run: &RunFiles| {
        let logged = run.detail().and_then(|detail| detail.mode());
        logged.or_else(|| Some(run.result()?.mode)) == Some(Mode::Submission)
    };
    let kinds = [&one.kind, &other.kind];
    let halves = [RunKind::Performance, RunKind::Accuracy];
    halves.iter().all(|half| kinds.contains(&half)) && is_half(one) && is_half(other)
}
