//! Finds runs that serve several purposes, such as a performance run that is also a compliance test
//! (N34, N35). Two accuracy targets of one model may share their runs: the official preparation
//! tool copies the results of the stricter target (`preprocess_submission.py`).

use std::collections::BTreeMap;

use netdiv_node_common::words::Mode;

use crate::{
    subject::{Findings, ResultEntry, RunFiles, RunKind, Subject, unusable_files::may_stand_for},
    tree::ResultPaths,
};

/// Finds pairs of runs with the same detail log, unless they may share it. Reports only pairs with
/// a compliance test if `of_tests` is true, and otherwise only the other pairs.
pub(super) fn compare(subject: &Subject, of_tests: bool, found: &mut Findings) {
    if subject.tree.is_none() {
        return;
    }
    let mut known: BTreeMap<&str, Vec<(&ResultEntry, &RunFiles)>> = BTreeMap::new();
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
        if let Some((_, other)) = other
            && (run.is_test() || other.is_test()) == of_tests
        {
            let text = format!(
                "has the detail log of {}: one run serves one purpose, so make another run",
                other.place
            );
            found.fail(&run.place, text);
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
