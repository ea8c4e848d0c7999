//! What a check says.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Grouped, Outcome, Rule, grouped::lines, tree::DIVISIONS};

/// What was found about each rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What was checked.
    pub subject: String,
    /// At least one finding for each of N1 to N38, in order; for each rule what is broken comes first.
    pub findings: Vec<Grouped>,
    /// Rules that only the Network division asks for, broken in what was made for the Open division: why it is there
    /// (rules, section 6.2). They fail nothing.
    pub waived: Vec<Grouped>,
}

impl Report {
    /// Whether a rule is broken.
    pub fn failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.outcome == Outcome::Fail)
    }

    /// The worst that was found about a rule.
    pub fn outcome(&self, rule: Rule) -> Outcome {
        let of_rule = self.findings.iter().filter(|finding| finding.rule == rule);
        of_rule.map(|finding| finding.outcome).max().unwrap_or(Outcome::CannotTell)
    }

    /// For people: a table by rule, then what is broken and what cannot be told, each with what to do.
    pub fn text(&self) -> String {
        table(self)
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::CannotTell => "cannot tell",
        Outcome::Fail => "FAIL",
    }
}

/// The table and the lists below it.
fn table(report: &Report) -> String {
    let mut text = format!("The rules of the Network division, in {}\n\n", report.subject);
    text += &line("", "outcome", "section", "rule");
    for rule in Rule::all() {
        let outcome = word(report.outcome(rule));
        text += &line(&rule.to_string(), outcome, rule.section(), rule.text());
    }
    let with = |outcome| report.findings.iter().filter(move |f| f.outcome == outcome);
    let prefix = &prefix(report);
    text += &list("Broken", with(Outcome::Fail), prefix);
    text += &list("Cannot be told", with(Outcome::CannotTell), prefix);
    let title = "Not asked of the Open division, and why this belongs to it";
    text += &list(title, report.waived.iter(), prefix);
    let told = report.findings.iter().filter(|f| f.outcome != Outcome::Pass);
    if told.chain(&report.waived).any(|finding| finding.places.len() > 2) {
        text += "\n--json names every place\n";
    }
    let count = |outcome| Rule::all().filter(|rule| report.outcome(*rule) == outcome).count();
    let [pass, unknown, fail] = [Outcome::Pass, Outcome::CannotTell, Outcome::Fail].map(count);
    text + &format!("\n{pass} rules pass, {unknown} cannot be told, {fail} fail\n")
}

fn line(rule: &str, outcome: &str, section: &str, text: &str) -> String {
    format!("{rule:<4} {outcome:<11}  {section:<18}  {text}\n")
}

fn list<'a>(title: &str, findings: impl Iterator<Item = &'a Grouped>, prefix: &str) -> String {
    let lines: String = lines(findings, prefix).iter().map(|line| format!("- {line}\n")).collect();
    match (lines.is_empty(), prefix) {
        (true, _) => lines,
        (false, "") => format!("\n{title}:\n{lines}"),
        (false, prefix) => format!("\n{title}, in {prefix}:\n{lines}"),
    }
}

/// The submitter's folder with a `/`, where all places in folders of divisions are in one; else nothing.
fn prefix(report: &Report) -> String {
    let places = report.findings.iter().chain(&report.waived).flat_map(|f| &f.places);
    let folder = |place: &String| {
        let mut parts = place.split('/');
        let (division, submitter, _) = (parts.next()?, parts.next()?, parts.next()?);
        DIVISIONS.contains(&division).then(|| format!("{division}/{submitter}/"))
    };
    let folders: BTreeSet<_> = places.filter_map(folder).collect();
    match folders.len() {
        1 => folders.into_iter().collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::findings::Findings;

    #[test]
    fn each_rule_has_its_line_and_what_is_broken_is_listed() {
        let mut found = Findings::default();
        for rule in Rule::all() {
            found.pass(rule, "here", "seen");
        }
        found.fail(Rule::N29, "node-a", "its memory has no ECC: turn it on");
        found.unknown(Rule::N37, "", "no other submission was named");
        let report = Report { subject: "x".into(), findings: found.settled(), waived: Vec::new() };
        assert!(report.failed());
        let text = report.text();
        for rule in Rule::all() {
            assert!(text.contains(&format!("\n{rule} ")), "{rule} is missing:\n{text}");
        }
        assert!(text.contains("- N29 (section 4.1.1): node-a: its memory has no ECC: turn it on"));
        assert!(text.ends_with("\n36 rules pass, 1 cannot be told, 1 fail\n"), "{text}");
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
}
