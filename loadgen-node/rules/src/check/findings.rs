//! Collects what the rules find and makes one list of it.

use std::{fmt::Display, path::Path};

use super::checked_folder::{Subject, Tree};
use crate::{
    Finding, Grouped, Outcome, Rule,
    grouped::{NEEDS_SUBMISSION, grouped},
};

/// Items that a list names before it only counts them.
const NAMED: usize = 3;

/// What was found so far, in the order in which it was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    /// One rule, to be judged at one place.
    pub(super) fn at(&mut self, rule: Rule, place: impl Into<String>) -> At<'_> {
        At { rule, place: place.into(), is_kept: true, found: self }
    }

    /// The rule is kept there.
    pub(super) fn pass(&mut self, rule: Rule, place: impl Into<String>, text: impl Into<String>) {
        self.list.push(Finding::pass(rule, place, text));
    }

    /// The rule is broken there.
    pub(super) fn fail(&mut self, rule: Rule, place: impl Into<String>, text: impl Into<String>) {
        self.list.push(Finding::fail(rule, place, text));
    }

    /// It cannot be told there.
    pub(super) fn unknown(
        &mut self,
        rule: Rule,
        place: impl Into<String>,
        text: impl Into<String>,
    ) {
        self.list.push(Finding::cannot_tell(rule, place, text));
    }

    /// None of these rules can be told there.
    pub(super) fn none_known<const N: usize>(&mut self, rules: [Rule; N], place: &str, text: &str) {
        for rule in rules {
            self.unknown(rule, place, text);
        }
    }

    /// Returns true if a rule was found broken at that very place.
    pub(super) fn is_broken_at(&self, rule: Rule, place: &str) -> bool {
        let is_it = |finding: &Finding| finding.rule == rule && finding.place == place;
        self.list.iter().any(|finding| is_it(finding) && finding.outcome == Outcome::Fail)
    }

    /// Takes out all that was found about these rules.
    pub(super) fn forget(&mut self, rules: &[Rule]) {
        self.list.retain(|finding| !rules.contains(&finding.rule));
    }

    /// The tree of a submission. Of a run folder, which has none, these rules cannot be told; `text` names what shows them.
    pub(super) fn tree<'s, const N: usize>(
        &mut self,
        subject: &'s Subject,
        rules: [Rule; N],
        text: &str,
    ) -> Option<&'s Tree> {
        if subject.tree.is_none() {
            self.none_known(rules, "", &format!("{NEEDS_SUBMISSION}{text}"));
        }
        subject.tree.as_ref()
    }

    /// The rules that are broken, in order.
    pub(super) fn broken(&self) -> Vec<Rule> {
        let broken = self.list.iter().filter(|finding| finding.outcome == Outcome::Fail);
        let mut rules: Vec<_> = broken.map(|finding| finding.rule).collect();
        rules.sort();
        rules.dedup();
        rules
    }

    /// The rules of which something, or all, cannot be told, in order.
    pub(super) fn unknown_rules(&self) -> Vec<Rule> {
        let of_rule = |rule: Rule| self.list.iter().filter(move |finding| finding.rule == rule);
        let is_told = |rule: &Rule| {
            of_rule(*rule).next().is_some()
                && of_rule(*rule).all(|finding| finding.outcome != Outcome::CannotTell)
        };
        Rule::all().filter(|rule| !is_told(rule)).collect()
    }

    /// Takes a folder out of all that is said: places are relative to it.
    pub(super) fn relative_to(&mut self, folder: &Path) {
        let folder = format!("{}/", folder.display());
        for finding in &mut self.list {
            finding.text = finding.text.replace(&folder, "");
        }
    }

    /// One finding for what is said of several places, one for all that passes of a rule, and at least one for each
    /// rule; by rule, and what is broken first.
    pub(super) fn settled(self) -> Vec<Grouped> {
        let mut findings = Vec::new();
        for rule in Rule::all() {
            let of_rule = self.list.iter().filter(|finding| finding.rule == rule);
            let (kept, mut told): (Vec<_>, Vec<_>) =
                grouped(of_rule).into_iter().partition(|group| group.outcome == Outcome::Pass);
            told.extend(kept.into_iter().reduce(Grouped::with));
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

/// One rule, judged at one place.
pub(super) struct At<'f> {
    rule: Rule,
    place: String,
    /// Whether nothing was found against it.
    is_kept: bool,
    found: &'f mut Findings,
}

impl At<'_> {
    /// The rule is broken here.
    pub(super) fn fail(&mut self, text: impl Into<String>) {
        self.find(Outcome::Fail, text);
    }

    /// The rule is broken here, for each of these reasons.
    pub(super) fn fail_each<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) {
        for text in texts {
            self.fail(text);
        }
    }

    /// The rule is broken at another place, which is judged together with this one.
    pub(super) fn fail_there(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.is_kept = false;
        self.found.fail(self.rule, place, text);
    }

    /// The same for each of these reasons.
    pub(super) fn fail_each_there<T: Into<String>>(
        &mut self,
        place: &str,
        texts: impl IntoIterator<Item = T>,
    ) {
        for text in texts {
            self.fail_there(place, text);
        }
    }

    /// It cannot be told at another place, which is judged together with this one.
    pub(super) fn unknown_there(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.is_kept = false;
        self.found.unknown(self.rule, place, text);
    }

    /// It cannot be told here.
    pub(super) fn unknown(&mut self, text: impl Into<String>) {
        self.find(Outcome::CannotTell, text);
    }

    /// That was found here.
    pub(super) fn find(&mut self, outcome: Outcome, text: impl Into<String>) {
        let (rule, place) = (self.rule, self.place.clone());
        self.is_kept &= outcome == Outcome::Pass;
        self.found.list.push(Finding { rule, outcome, place, text: text.into() });
    }

    /// What the detail log has under a key must be there, and right; `wanted` says what is.
    pub(super) fn logged<T: Display>(
        &mut self,
        key: &str,
        value: Option<T>,
        is_right: impl FnOnce(&T) -> bool,
        wanted: impl Display,
    ) {
        match value {
            Some(value) if is_right(&value) => {}
            Some(value) => self.fail(format!("{key} is {value}, {wanted}")),
            None => self.fail(format!("the detail log has no {key}")),
        }
    }

    /// Whether nothing was found against the rule so far.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The rule is kept here, unless something was found against it.
    pub(super) fn or_pass(mut self, text: impl Into<String>) {
        if self.is_kept {
            self.find(Outcome::Pass, text);
        }
    }
}

/// The first few of them, and how many more there are.
pub(super) fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let named: Vec<_> = items.iter().take(NAMED).map(AsRef::as_ref).collect();
    match items.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_grouped_and_no_rule_is_forgotten() {
        let mut found = Findings::default();
        let (first, second) = (Rule::N1, Rule::N2);
        for place in ["a", "b", "c", "d"] {
            found.pass(second, place, "good");
        }
        found.pass(second, "a", "also good");
        found.fail(first, "x", "bad");
        found.fail(first, "y", "bad");
        found.fail(first, "y", "worse");
        found.pass(first, "z", "good");
        assert_eq!(found.broken(), [first]);
        let settled = found.settled();
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
