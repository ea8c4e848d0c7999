//! N4 and N5 by the evidence: the SUT and the QDL run on physically separate systems, and a permitted fabric leads from one
//! to the other (rules, section 6.2.2).

use super::{
    checked_folder::Subject,
    findings::Findings,
    machines::{Seen, seen},
};
use crate::{
    Grouped, Outcome,
    Rule::{self, N4, N5},
    facts::machines::ip,
    grouped::grouped,
    judge::machines::{OfMachine, between},
    result::Node,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in seen(subject, N4, found) {
        let text = "the machines at both ends are bare metal, with different boots, boards and hardware addresses";
        of_run(&seen, N4, text, on_the_loadgen_node(&seen), found);
    }
    for seen in seen(subject, N5, found) {
        let text = "every way between them is over an interface of a permitted fabric";
        of_run(&seen, N5, text, unrouted(&seen), found);
    }
}

/// What stands against a rule by the evidence, and what else does.
fn of_run(
    seen: &Seen,
    rule: Rule,
    text: &str,
    more: impl Iterator<Item = (Outcome, String)>,
    found: &mut Findings,
) {
    let mut at = found.at(rule, seen.place);
    for (outcome, text) in reasons(between(seen.evidence), rule).into_iter().chain(more) {
        at.find(outcome, text);
    }
    if !seen.evidence.nodes.is_empty() {
        at.or_pass(text);
    }
}

/// Each reason once, after all the machines that it is about.
fn reasons(of_machines: Vec<OfMachine>, rule: Rule) -> Vec<(Outcome, String)> {
    let findings = of_machines.into_iter().map(|one| one.finding);
    let of_rule: Vec<_> = findings.filter(|finding| finding.rule == rule).collect();
    let reason =
        |Grouped { outcome, places, text, .. }| (outcome, format!("{}: {text}", places.join(", ")));
    grouped(&of_rule).into_iter().map(reason).collect()
}

/// What the LoadGen node called is not itself, whatever the evidence says.
fn on_the_loadgen_node(seen: &Seen) -> impl Iterator<Item = (Outcome, String)> {
    let is_local =
        |node: &&Node| ip(&node.address).is_some_and(|ip| ip.is_loopback() || ip.is_unspecified());
    seen.record.nodes.iter().filter(is_local).map(|Node { name, address, .. }| {
        let text = format!(
            "node {name} was reached at {address}, on the LoadGen node itself: run it on another machine"
        );
        (Outcome::Fail, text)
    })
}

fn unrouted(seen: &Seen) -> impl Iterator<Item = (Outcome, String)> {
    let unrouted = seen.evidence.nodes.iter().filter(|(_, machine)| machine.routes.is_empty());
    unrouted.map(|(name, _)| {
        let text = format!("node {name} did not say over which interface it is connected");
        (Outcome::CannotTell, text)
    })
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
            finding: Finding::fail(N5, machine, "lg0 is virtual"),
            peer: Some(peer.into()),
        };
        let reasons = reasons(ways.map(virtual_interface).into(), N5);
        assert_eq!(reasons, [(Outcome::Fail, "LoadGen node, a to b: lg0 is virtual".into())]);
    }
}
