//! Judges the rules about the machines at both ends by their evidence (N4, N5).

use crate::{
    Finding, GroupedFinding, Outcome, Rule,
    grouping::grouped,
    judge::machines::check_machines,
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
fn grouped_violations(of_machines: Vec<Finding>, rule: Rule) -> Vec<(Outcome, String)> {
    let of_rule: Vec<_> = of_machines.into_iter().filter(|finding| finding.rule == rule).collect();
    let reason = |GroupedFinding { outcome, places, text, .. }| {
        (outcome, format!("{}: {text}", places.join(", ")))
    };
    grouped(&of_rule).into_iter().map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_said_once_of_all_machines() {
        let found = ["LoadGen node", "LoadGen node", "a to b"]
            .map(|machine| Finding::fail(Rule::N5, machine, "lg0 is virtual"));
        let reasons = grouped_violations(found.into(), Rule::N5);
        assert_eq!(reasons, [(Outcome::Fail, "LoadGen node, a to b: lg0 is virtual".into())]);
    }
}
