//! Collects what the rules find, and merges it into one list.

use std::{fmt::Display, path::Path};

use super::{NO_BENCHMARK, ResultEntry, Subject, SubmissionTree};
use crate::{
    Finding, GroupedFinding, Outcome, Rule,
    book::Benchmark,
    grouping::{NEEDS_SUBMISSION, grouped},
    record::RunResult,
};

/// Maximum number of items that a list names; it counts the rest.
const MAX_LISTED: usize = 3;

/// All findings so far, in the order in which the rules reported them.
#[derive(Debug, Default)]
pub(crate) struct AllFindings(pub(crate) Vec<Finding>);

impl AllFindings {
    /// Returns the list that collects the findings about a rule.
    pub(crate) fn of(&mut self, rule: Rule) -> Findings<'_> {
        Findings { rule, list: &mut self.0 }
    }

    /// Removes all findings about these rules.
    pub(crate) fn forget(&mut self, rules: &[Rule]) {
        self.0.retain(|finding| !rules.contains(&finding.rule));
    }

    /// Removes the path of a folder from all texts, because the places of findings are relative to
    /// that folder.
    pub(crate) fn relative_to(&mut self, folder: &Path) {
        let folder = format!("{}/", folder.display());
        for finding in &mut self.0 {
            finding.text = finding.text.replace(&folder, "");
        }
    }

    /// Merges findings of equal text into one, and all passes of a rule into one. Returns at least
    /// one finding for each rule, in the order of the rules; the failures of a rule precede its
    /// other findings.
    pub(crate) fn into_grouped(self) -> Vec<GroupedFinding> {
        let mut findings = Vec::new();
        for rule in Rule::all() {
            let of_rule = self.0.iter().filter(|finding| finding.rule == rule);
            let (kept, mut told): (Vec<_>, Vec<_>) =
                grouped(of_rule).into_iter().partition(|group| group.outcome == Outcome::Pass);
            told.extend(kept.into_iter().reduce(GroupedFinding::with));
            if told.is_empty() {
                let text = "nothing here shows it; the findings above say what could not be read";
                told = grouped(&[Finding::cannot_tell(rule, "", text)]);
            }
            told.sort_by_key(|finding| std::cmp::Reverse(finding.outcome));
            findings.append(&mut told);
        }
        findings
    }
}

/// Collector of the findings about one rule.
pub(crate) struct Findings<'a> {
    rule: Rule,
    /// All findings so far, including those about other rules.
    list: &'a mut Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, outcome: Outcome, place: impl Into<String>, text: impl Into<String>) {
        let (rule, place, text) = (self.rule, place.into(), text.into());
        self.list.push(Finding { rule, outcome, place, text });
    }

    /// Starts to judge the rule at a place.
    pub(crate) fn at(&mut self, place: impl Into<String>) -> PlaceJudgement<'_> {
        PlaceJudgement {
            place: place.into(),
            is_kept: true,
            found: Findings { rule: self.rule, list: self.list },
        }
    }

    /// Reports that the rule passes at a place.
    pub(crate) fn pass(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.add(Outcome::Pass, place, text);
    }

    /// Reports that the rule is broken at a place.
    pub(crate) fn fail(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.add(Outcome::Fail, place, text);
    }

    /// Reports that the rule cannot be judged at a place.
    pub(crate) fn unknown(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.add(Outcome::CannotTell, place, text);
    }

    /// Reports the differences between each readable record and the files of its run; `of` returns
    /// the differences.
    pub(crate) fn records<'s, I: IntoIterator<Item = String>>(
        &mut self,
        subject: &'s Subject,
        of: impl Fn(&'s RunResult) -> I,
    ) {
        for (run, record) in subject.records() {
            for text in of(record) {
                self.fail(
                    &run.record_place,
                    format!("{text}: take the record as the run wrote it"),
                );
            }
        }
    }

    /// Returns the benchmark of a result. Without one, reports that the rule cannot be judged.
    pub(crate) fn benchmark<'t>(&mut self, entry: &ResultEntry<'t>) -> Option<&'t Benchmark> {
        if entry.benchmark.is_none() {
            self.unknown(&entry.place, NO_BENCHMARK);
        }
        entry.benchmark
    }

    /// Returns the tree of a submission. For a run folder, which has no tree, reports that the rule
    /// cannot be judged; `text` names the missing evidence.
    pub(crate) fn tree<'s>(
        &mut self,
        subject: &'s Subject,
        text: &str,
    ) -> Option<&'s SubmissionTree> {
        if subject.tree.is_none() {
            self.unknown("", format!("{NEEDS_SUBMISSION}{text}"));
        }
        subject.tree.as_ref()
    }

    /// Like [`Self::tree`], but returns `None` if another program than netdiv made the submission,
    /// because a rule about netdiv's own files does not apply to it.
    pub(crate) fn own_tree<'s>(
        &mut self,
        subject: &'s Subject,
        text: &str,
    ) -> Option<&'s SubmissionTree> {
        self.tree(subject, text).filter(|_| !subject.is_foreign())
    }

    pub(crate) fn broken(&self) -> Vec<Rule> {
        let broken = self.list.iter().filter(|finding| finding.outcome == Outcome::Fail);
        let mut rules: Vec<_> = broken.map(|finding| finding.rule).collect();
        rules.sort();
        rules.dedup();
        rules
    }

    /// Returns the rules that have no finding or cannot be judged, in whole or in part, in order.
    pub(crate) fn unknown_rules(&self) -> Vec<Rule> {
        let of_rule = |rule: Rule| self.list.iter().filter(move |finding| finding.rule == rule);
        let is_told = |rule: &Rule| {
            of_rule(*rule).next().is_some()
                && of_rule(*rule).all(|finding| finding.outcome != Outcome::CannotTell)
        };
        Rule::all().filter(|rule| !is_told(rule)).collect()
    }
}

/// Judgement of a rule at one place.
pub(crate) struct PlaceJudgement<'f> {
    place: String,
    /// True until a finding other than a pass is added.
    is_kept: bool,
    found: Findings<'f>,
}

impl PlaceJudgement<'_> {
    /// Reports that the rule is broken here.
    pub(crate) fn fail(&mut self, text: impl Into<String>) {
        self.find(Outcome::Fail, text);
    }

    /// Reports that the rule is broken here, for each reason.
    pub(crate) fn fail_each<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) {
        for text in texts {
            self.fail(text);
        }
    }

    /// Reports that the rule is broken at another place, which is judged together with this one.
    pub(crate) fn fail_at(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.find_at(Outcome::Fail, place, text);
    }

    /// Reports that the rule cannot be judged at another place, which is judged together with this
    /// one.
    pub(crate) fn unknown_at(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.find_at(Outcome::CannotTell, place, text);
    }

    /// Reports that the rule cannot be judged here.
    pub(crate) fn unknown(&mut self, text: impl Into<String>) {
        self.find(Outcome::CannotTell, text);
    }

    /// Adds a finding at this place.
    pub(crate) fn find(&mut self, outcome: Outcome, text: impl Into<String>) {
        self.find_at(outcome, self.place.clone(), text);
    }

    /// Adds a finding at another place, which is judged together with this one.
    pub(crate) fn find_at(
        &mut self,
        outcome: Outcome,
        place: impl Into<String>,
        text: impl Into<String>,
    ) {
        self.is_kept &= outcome == Outcome::Pass;
        self.found.add(outcome, place, text);
    }

    /// Requires the detail log to have a right value of a key. `value` is the logged value, and
    /// `wanted` describes the right value in the failure that is reported otherwise.
    pub(crate) fn require_logged<T: Display>(
        &mut self,
        key: &str,
        value: Option<T>,
        is_right: impl FnOnce(&T) -> bool,
        wanted: impl Display,
    ) {
        match value {
            Some(value) if is_right(&value) => {}
            Some(value) => self.fail(format!("{key} is {value}, {wanted}")),
            None => self.fail(missing_key(key)),
        }
    }

    /// Returns true if the rule has neither failed nor been undecided here so far.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Reports that the rule passes here, unless it has failed or been undecided.
    pub(crate) fn or_pass(mut self, text: impl Into<String>) {
        if self.is_kept {
            self.find(Outcome::Pass, text);
        }
    }
}

/// Returns the text about a key that a detail log must have.
pub(crate) fn missing_key(key: &str) -> String {
    format!("the detail log has no {key}: submit the log as LoadGen wrote it")
}

/// Lists the first [`MAX_LISTED`] items, and counts the others.
pub(crate) fn list_first<T: AsRef<str>>(items: &[T]) -> String {
    let named: Vec<_> = items.iter().take(MAX_LISTED).map(AsRef::as_ref).collect();
    match items.len().saturating_sub(MAX_LISTED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_grouped_and_no_rule_is_forgotten() {
        let mut all = AllFindings::default();
        let (first, second) = (Rule::N1, Rule::N2);
        let mut found = all.of(second);
        for place in ["a", "b", "c", "d"] {
            found.pass(place, "good");
        }
        found.pass("a", "also good");
        let mut found = all.of(first);
        found.fail("x", "bad");
        found.fail("y", "bad");
        found.fail("y", "worse");
        found.pass("z", "good");
        assert_eq!(found.broken(), [first]);
        let settled = all.into_grouped();
        let said: Vec<_> =
            settled.iter().take(4).map(|f| (f.places.join(" "), f.text.as_str())).collect();
        let want = [
            ("x y".to_owned(), "bad"),
            ("y".into(), "worse"),
            ("z".into(), "good"),
            ("a b c d".into(), "good; also good"),
        ];
        assert_eq!(said, want);
        assert_eq!(settled.len(), 4 + 36);
        assert!(settled[4..].iter().all(|finding| finding.outcome == Outcome::CannotTell));
    }
}
