//! Waives violations of rules that a division does not require.

use crate::{GroupedFinding, Outcome, Rule, subject::JudgedDivision};

/// Splits findings into two lists: first the findings that count, then the failures that the
/// division waives.
pub(super) fn waive(
    division: JudgedDivision,
    findings: Vec<GroupedFinding>,
) -> (Vec<GroupedFinding>, Vec<GroupedFinding>) {
    match division {
        JudgedDivision::Network => (findings, Vec::new()),
        JudgedDivision::Closed => closed(findings),
        JudgedDivision::Open => open_waived(findings),
    }
}

/// Replaces the findings about each rule that the Closed division does not require by a single pass
/// that names the waiver. Returns the lists of [`waive`].
fn closed(findings: Vec<GroupedFinding>) -> (Vec<GroupedFinding>, Vec<GroupedFinding>) {
    let (mut waived, mut kept): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| !finding.rule.is_in_closed());
    waived.retain(|finding| finding.outcome == Outcome::Fail);
    kept.extend(Rule::all().filter(|rule| !rule.is_in_closed()).map(|rule| GroupedFinding {
        rule,
        outcome: Outcome::Pass,
        places: Vec::new(),
        text: format!("not required in the Closed division: the rule is in {}", rule.source()),
    }));
    kept.sort_by_key(|finding| finding.rule);
    (kept, waived)
}

/// Moves the failures that the Open division waives (rules, section 4.1.2) to the second list, and
/// adds a pass for each of their rules. Returns the lists of [`waive`].
fn open_waived(findings: Vec<GroupedFinding>) -> (Vec<GroupedFinding>, Vec<GroupedFinding>) {
    let is_waived =
        |finding: &GroupedFinding| finding.outcome == Outcome::Fail && !finding.rule.is_in_open();
    let (waived, mut kept): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_waived);
    for rule in Rule::all() {
        let of_rule = waived.iter().filter(|finding| finding.rule == rule);
        let broken: usize = of_rule.map(|finding| finding.places.len().max(1)).sum();
        if broken > 0 {
            let text = format!("not required in the Open division; broken in {broken} places");
            kept.push(GroupedFinding { rule, outcome: Outcome::Pass, places: Vec::new(), text });
        }
    }
    kept.sort_by_key(|finding| (finding.rule, std::cmp::Reverse(finding.outcome)));
    (kept, waived)
}
