//! Rules that a division does not ask for.

use crate::{Grouped, Outcome, Rule, subject::JudgedDivision};

/// Takes out what a division does not ask for: what is left, and what was broken of the rest.
pub(super) fn waive(
    division: JudgedDivision,
    findings: Vec<Grouped>,
) -> (Vec<Grouped>, Vec<Grouped>) {
    match division {
        JudgedDivision::Network => (findings, Vec::new()),
        JudgedDivision::Closed => closed(findings),
        JudgedDivision::Open => open_waived(findings),
    }
}

/// Replaces the findings of a waived rule by one that says so.
fn closed(findings: Vec<Grouped>) -> (Vec<Grouped>, Vec<Grouped>) {
    let (mut waived, mut kept): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| !finding.rule.entry().in_closed);
    waived.retain(|finding| finding.outcome == Outcome::Fail);
    kept.extend(Rule::all().filter(|rule| !rule.entry().in_closed).map(|rule| Grouped {
        rule,
        outcome: Outcome::Pass,
        places: Vec::new(),
        text: format!(
            "the Closed division does not ask for it: it is of section {}",
            rule.section()
        ),
    }));
    kept.sort_by_key(|finding| finding.rule);
    (kept, waived)
}

/// Takes out what the Open division does not ask for (rules, section 4.1.2).
fn open_waived(findings: Vec<Grouped>) -> (Vec<Grouped>, Vec<Grouped>) {
    let is_waived =
        |finding: &Grouped| finding.outcome == Outcome::Fail && !finding.rule.entry().in_open;
    let (waived, mut kept): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_waived);
    for rule in Rule::all() {
        let of_rule = waived.iter().filter(|finding| finding.rule == rule);
        let broken: usize = of_rule.map(|finding| finding.places.len().max(1)).sum();
        if broken > 0 {
            let text =
                format!("the Open division does not ask for it; it is broken in {broken} places");
            kept.push(Grouped { rule, outcome: Outcome::Pass, places: Vec::new(), text });
        }
    }
    kept.sort_by_key(|finding| (finding.rule, std::cmp::Reverse(finding.outcome)));
    (kept, waived)
}
