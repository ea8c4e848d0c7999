//! Of N2 and N32: LoadGen's logs have its settings on and off as the rules want them.

use super::checked_folder::{Entry, Run, Subject};
use crate::{
    Rule,
    judge::switches::{Asked, switches},
};

/// What the log of a run says against the switches of a rule.
pub(super) fn wrong(rule: Rule, subject: &Subject, entry: &Entry, run: &Run) -> Vec<String> {
    let (Some(benchmark), Some(detail)) = (entry.benchmark, run.detail()) else { return vec![] };
    let switches = switches(benchmark).into_iter().filter(|switch| {
        let is_asked = match switch.asked {
            Asked::Always => true,
            Asked::Closed => !subject.is_open(),
            Asked::NoTest => !run.is_test(),
        };
        switch.rule == rule && is_asked
    });
    switches.flat_map(|switch| switch.wrong_in(detail).collect::<Vec<_>>()).collect()
}
