//! Judges the rules about the machines at both ends by their evidence (N4, N5).

use crate::{
    Grouped, Outcome, Rule,
    grouped::grouped,
    judge::machines::{OfMachine, between},
    subject::{Findings, Seen},
};

/// Adds the violations of a rule by the evidence, and the findings in `more`.
pub(super) fn of_run(
    seen: &Seen,
    rule: Rule,
    text: &str,
    more: impl Iterator<Item = (Outcome, String)>,
    found: &mut Findings,
) {
    let mut at = found.at(seen.place);
    for (outcome, text) in reasons(between(seen.evidence), rule).into_iter().chain(more) {
        at.find(outcome, text);
    }
    if !seen.evidence.nodes.is_empty() {
        at.or_pass(text);
    }
}

/// Returns each violation once, after the names of all machines that it concerns.
fn reasons(of_machines: Vec<OfMachine>, rule: Rule) -> Vec<(Outcome, String)> {
    let findings = of_machines.into_iter().map(|one| one.finding);
    let of_rule: Vec<_> = findings.filter(|finding| finding.rule == rule).collect();
    let reason =
        |Grouped { outcome, places, text, .. }| (outcome, format!("{}: {text}", places.join(", ")));
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
        let virtual_interface = |(machine, peer): (&str, &str)| OfMachine {
            finding: Finding::fail(Rule::N5, machine, "lg0 is virtual"),
            peer: Some(peer.into()),
        };
        let reasons = reasons(ways.map(virtual_interface).into(), Rule::N5);
        assert_eq!(reasons, [(Outcome::Fail, "LoadGen node, a to b: lg0 is virtual".into())]);
    }
}
