//! A report in words.

use std::collections::BTreeSet;

use super::Report;
use crate::{Grouped, Outcome, Rule, tree::DIVISIONS};

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::CannotTell => "cannot tell",
        Outcome::Fail => "FAIL",
    }
}

/// The table and the lists below it.
pub(super) fn of(report: &Report) -> String {
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
    let lines: String = findings.map(|finding| format!("- {}\n", finding.brief(prefix))).collect();
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::findings::Findings;
    use super::*;

    #[test]
    fn each_rule_has_its_line_and_what_is_broken_is_listed() {
        let mut found = Findings::default();
        for rule in Rule::all() {
            found.pass(rule, "here", "seen");
        }
        found.fail(Rule::new(29), "node-a", "its memory has no ECC: turn it on");
        found.unknown(Rule::new(37), "", "no other submission was named");
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
