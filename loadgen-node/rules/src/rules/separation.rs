//! Judges the rules about the machines at both ends by their evidence (N4, N5).

use crate::{
    GroupedFinding, Outcome, Rule,
    grouping::grouped,
    judge::machines::{MachineFinding, check_machines},
    subject::{Findings, RunEvidence},
};

/// Adds the findings about `rule` for a run: the violations that its evidence shows, and `more`.
/// Without violations, the rule passes with `text`.
pub(super) fn judge_run(
    seen: &RunEvidence,
    rule: Rule,
    text: &str,
    more: impl Iterator<Item = (Outcome, String)>,
    found: &mut Findings,
) {
    let mut at = found.at(seen.place);
    for (outcome, text) in
        grouped_violations(check_machines(seen.evidence), rule).into_iter().chain(more)
    {
        at.find(outcome, text);
    }
    if !seen.evidence.nodes.is_empty() {
        at.or_pass(text);
    }
}

/// Returns each violation once, after the names of all machines that it concerns.
fn grouped_violations(of_machines: Vec<MachineFinding>, rule: Rule) -> Vec<(Outcome, String)> {
    let findings = of_machines.into_iter().map(|one| one.finding);
    let of_rule: Vec<_> = findings.filter(|finding| finding.rule == rule).collect();
    let reason = |GroupedFinding { outcome, places, text, .. }| {
        (outcome, format!("{}: {text}", places.join(", ")))
    };
    grouped(&of_rule).into_iter().map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finding;

    #[test]
    fn a_reason_is_said_once_of_all_machines() {
        let ways = [
            ("LoadGen node", "10.0.0.2:1"),
            ("LoadGen node", "10.0.0.3:1"),
            ("a to b", "10.0.0.1"),
        ];
        let virtual_interface = |(machine, peer): (&str, &str)| MachineFinding {
            finding: Finding::fail(Rule::N5, machine, "lg0 is virtual"),
            peer: Some(peer.into()),
        };
        let reasons = grouped_violations(ways.map(virtual_interface).into(), Rule::N5);
        assert_eq!(reasons, [(Outcome::Fail, "LoadGen node, a to b: lg0 is virtual".into())]);
    }
}
