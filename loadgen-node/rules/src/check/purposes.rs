//! One run serves one purpose: of N34 and N35.

use netdiv_words::Mode;
use std::collections::BTreeMap;

use super::{
    checked_folder::{Entry, Kind, Run, Subject},
    findings::Findings,
};
use crate::{
    Rule::{N34, N35},
    facts::files,
    tree::DETAIL,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    if subject.tree.is_none() {
        return;
    }
    let mut known: BTreeMap<String, Vec<(&Entry, &Run)>> = BTreeMap::new();
    for (entry, run) in subject.runs() {
        let Some(hash) = detail_sha256(run) else { continue };
        let others = known.entry(hash).or_default();
        let other =
            others.iter().find(|(of, other)| !(std::ptr::eq(*of, entry) && is_both(other, run)));
        if let Some((_, other)) = other {
            let rule = if run.is_test() || other.is_test() { N34 } else { N35 };
            let text = format!(
                "is the run of {}, by its detail log: one run serves one purpose, so make another",
                other.place
            );
            found.fail(rule, &run.place, text);
        }
        others.push((entry, run));
    }
}

/// By the log itself, or by the record where only that is kept.
fn detail_sha256(run: &Run) -> Option<String> {
    match run.logs {
        Some(_) => files::sha256(&run.folder.join(DETAIL)).ok(),
        None => run.result()?.logs.get(DETAIL).cloned(),
    }
}

/// The two halves of a run in mode `submission`.
fn is_both(one: &Run, other: &Run) -> bool {
    let is_half = |run: &Run| {
        let logged = run.detail().and_then(|detail| detail.mode());
        logged.or_else(|| Some(run.result()?.mode)) == Some(Mode::Submission)
    };
    let kinds = [&one.kind, &other.kind];
    let halves = [Kind::Performance, Kind::Accuracy];
    halves.iter().all(|half| kinds.contains(&half)) && is_half(one) && is_half(other)
}
