//! Collects what the rules find and makes one list of it.

use crate::{Finding, Grouped, Outcome, Rule};

/// Items that a list names before it only counts them.
const NAMED: usize = 3;

/// What was found so far, in the order in which it was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
}

impl Findings {
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

    /// How often the rule was not simply kept so far.
    pub(super) fn problems(&self, rule: Rule) -> usize {
        let is_one = |f: &&Finding| f.rule == rule && f.outcome != Outcome::Pass;
        self.list.iter().filter(is_one).count()
    }

    /// The rule is kept there, if no more problems were found than `before`.
    pub(super) fn pass_unless_more(
        &mut self,
        rule: Rule,
        before: usize,
        place: impl Into<String>,
        text: impl Into<String>,
    ) {
        if self.problems(rule) == before {
            self.pass(rule, place, text);
        }
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

    /// One finding for what is said of several places, one for all that passes of a rule, and at least one for each
    /// rule; by rule, and what is broken first.
    pub(super) fn settled(self) -> Vec<Grouped> {
        let mut groups: Vec<Group> = Vec::new();
        for finding in self.list {
            let same = groups.iter_mut().find(|group| group.takes(&finding));
            match same {
                Some(group) => group.add(finding),
                None => groups.push(Group::of(finding)),
            }
        }
        for rule in Rule::all() {
            if !groups.iter().any(|group| group.rule == rule) {
                let text = "nothing here shows it; the findings above say what could not be read";
                groups.push(Group::of(Finding::cannot_tell(rule, "", text)));
            }
        }
        let mut findings: Vec<_> = groups.into_iter().map(Group::grouped).collect();
        findings.sort_by_key(|finding| (finding.rule, std::cmp::Reverse(finding.outcome)));
        findings
    }
}

/// Findings that become one.
struct Group {
    rule: Rule,
    outcome: Outcome,
    places: Vec<String>,
    texts: Vec<String>,
}

impl Group {
    fn of(finding: Finding) -> Self {
        let Finding { rule, outcome, place, text } = finding;
        Self { rule, outcome, places: vec![place], texts: vec![text] }
    }

    fn takes(&self, finding: &Finding) -> bool {
        let same_rule = (self.rule, self.outcome) == (finding.rule, finding.outcome);
        same_rule && (self.outcome == Outcome::Pass || self.texts.contains(&finding.text))
    }

    fn add(&mut self, finding: Finding) {
        let add = |list: &mut Vec<String>, item| {
            if !list.contains(&item) {
                list.push(item);
            }
        };
        add(&mut self.places, finding.place);
        add(&mut self.texts, finding.text);
    }

    fn grouped(self) -> Grouped {
        let Self { rule, outcome, mut places, texts } = self;
        places.retain(|place| !place.is_empty());
        Grouped { rule, outcome, places, text: texts.join("; ") }
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
        let (first, second) = (Rule::new(1), Rule::new(2));
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
