//! Report of a check.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Division, GroupedFinding, Outcome,
    Rule::{self, N32},
    grouping::lines,
    judge::limits::{COALESCE, COALESCED},
    subject::JudgedRound,
    tree::DIVISIONS,
};

/// Findings in a run folder, in a submitter's folder, or in a tree with several of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Path that was checked.
    pub subject: String,
    /// Single judgement of a run, or a judgement for each submitter in each division of a tree.
    pub judgements: Vec<Judgement>,
}

/// Findings about each rule, for a run or for a submitter in a division.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The submitter's folder, such as `closed/acme`; empty for a run.
    pub subject: String,
    /// Division whose rules apply.
    pub division: Division,
    /// Round whose figures apply, and the source of that choice.
    pub round: JudgedRound,
    /// Findings by rule, N1 to N38 in order, at least one for each; failures come first.
    pub findings: Vec<GroupedFinding>,
    /// Broken rules that the division does not require. In the Open division they are the reason
    /// for that division (rules, section 6.2). They do not fail the check.
    pub waived: Vec<GroupedFinding>,
}

impl Report {
    /// Returns true if a rule is broken anywhere.
    pub fn failed(&self) -> bool {
        self.judgements.iter().any(Judgement::failed)
    }

    /// Returns the worst outcome of a rule in all judgements; [`Outcome::CannotTell`] without
    /// findings.
    pub fn outcome(&self, rule: Rule) -> Outcome {
        let outcomes = self.judgements.iter().map(|one| one.outcome(rule));
        outcomes.max().unwrap_or(Outcome::CannotTell)
    }

    /// Returns the findings of all judgements.
    pub fn findings(&self) -> impl Iterator<Item = &GroupedFinding> + Clone {
        self.judgements.iter().flat_map(|one| &one.findings)
    }

    /// Returns the findings about broken rules that the divisions do not require, of all
    /// judgements.
    pub fn waived(&self) -> impl Iterator<Item = &GroupedFinding> + Clone {
        self.judgements.iter().flat_map(|one| &one.waived)
    }

    /// Formats the report for readers: for each judgement a table by rule, then the findings that
    /// are broken or cannot be judged, each with its remedy.
    pub fn text(&self) -> String {
        let text = |one: &Judgement| match self.judgements.len() {
            1 => one.text(&self.subject),
            _ => one.text(&one.subject),
        };
        self.judgements.iter().map(text).collect::<Vec<_>>().join("\n\n")
    }
}

impl Judgement {
    /// Returns true if a rule is broken.
    pub fn failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.outcome == Outcome::Fail)
    }

    /// Returns the worst outcome of a rule; [`Outcome::CannotTell`] without findings.
    pub fn outcome(&self, rule: Rule) -> Outcome {
        let of_rule = self.findings.iter().filter(|finding| finding.rule == rule);
        of_rule.map(|finding| finding.outcome).max().unwrap_or(Outcome::CannotTell)
    }

    fn is_asked(&self, rule: Rule) -> bool {
        rule.is_required_in(self.division)
    }

    fn text(&self, subject: &str) -> String {
        let (division, name, by) = (self.division.title(), &self.round.name, self.round.by);
        let mut text =
            format!("The rules of the {division} division, in {subject} (round {name}, {by})\n\n");
        text += &line("", "outcome", "section", "rule");
        let (asked, not_asked): (Vec<_>, Vec<_>) =
            Rule::all().partition(|rule| self.is_asked(*rule));
        for rule in &asked {
            let outcome = word(self.outcome(*rule));
            text += &line(&rule.to_string(), outcome, rule.section(), rule.text());
        }
        if !not_asked.is_empty() {
            let rules = not_asked.iter().map(Rule::to_string).collect::<Vec<_>>().join(", ");
            text += &format!("Not required in the {division} division (section 6.2): {rules}\n");
        }
        let with = |outcome| self.findings.iter().filter(move |f| f.outcome == outcome);
        let prefix = &prefix(self);
        text += &list("Broken", with(Outcome::Fail), prefix);
        text += &list("Cannot tell", with(Outcome::CannotTell), prefix);
        let waived = self.waived.iter().filter(|finding| self.is_asked(finding.rule));
        let title = "Not required in the Open division, but broken";
        text += &list(title, waived.clone(), prefix);
        if with(Outcome::Pass).any(|finding| finding.text.contains(COALESCED)) {
            text += &format!("\nNoted:\n- {N32} {COALESCE}: {COALESCED}\n");
        }
        let told = self.findings.iter().filter(|f| f.outcome != Outcome::Pass);
        if told.chain(waived).any(|finding| finding.places.len() > 2) {
            text += "\n--json lists every place\n";
        }
        let count = |outcome| asked.iter().filter(|rule| self.outcome(**rule) == outcome).count();
        let [pass, unknown, fail] = [Outcome::Pass, Outcome::CannotTell, Outcome::Fail].map(count);
        text + &format!("\n{pass} pass, {unknown} cannot tell, {fail} fail\n")
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::CannotTell => "cannot tell",
        Outcome::Fail => "FAIL",
    }
}

fn line(rule: &str, outcome: &str, section: &str, text: &str) -> String {
    format!("{rule:<4} {outcome:<11}  {section:<18}  {text}\n")
}

fn list<'a>(
    title: &str,
    findings: impl Iterator<Item = &'a GroupedFinding>,
    prefix: &str,
) -> String {
    let lines: String = lines(findings, prefix).iter().map(|line| format!("- {line}\n")).collect();
    match (lines.is_empty(), prefix) {
        (true, _) => lines,
        (false, "") => format!("\n{title}:\n{lines}"),
        (false, prefix) => format!("\n{title}, in {prefix}:\n{lines}"),
    }
}

/// Returns the submitter's folder with a `/` if all places in divisions are in that folder;
/// otherwise an empty string.
fn prefix(report: &Judgement) -> String {
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
    use crate::subject::{AllFindings, RoundSource};

    #[test]
    fn each_rule_has_its_line_and_what_is_broken_is_listed() {
        let mut found = AllFindings::default();
        for rule in Rule::all() {
            found.of(rule).pass("here", "seen");
        }
        found.of(Rule::N29).fail("node-a", "its memory has no ECC: turn it on");
        found.of(Rule::N37).unknown("", "no other submission was named");
        let judgement = Judgement {
            subject: "network/acme".into(),
            division: Division::Network,
            round: JudgedRound { name: "v5.0".into(), by: RoundSource::Seeds, in_table: true },
            findings: found.into_grouped(),
            waived: Vec::new(),
        };
        let report = Report { subject: "x".into(), judgements: vec![judgement.clone()] };
        assert!(report.failed());
        let text = report.text();
        for rule in Rule::all() {
            assert!(text.contains(&format!("\n{rule} ")), "{rule} is missing:\n{text}");
        }
        assert!(text.contains("- N29 (section 4.1.1): node-a: its memory has no ECC: turn it on"));
        assert!(text.ends_with("\n36 pass, 1 cannot tell, 1 fail\n"), "{text}");
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
        assert!(
            text.starts_with("The rules of the Network division, in x (round v5.0, by its seeds)")
        );
        let other = Judgement { subject: "closed/other".into(), ..judgement.clone() };
        let other = Judgement { division: Division::Closed, ..other };
        let both = Report { subject: "x".into(), judgements: vec![judgement, other] };
        let text = both.text();
        for heading in ["Network division, in network/acme", "Closed division, in closed/other"] {
            assert!(text.contains(heading), "{text}");
        }
        assert!(
            text.contains("\nNot required in the Closed division (section 6.2): N1, N4, N5,"),
            "{text}"
        );
    }
}
