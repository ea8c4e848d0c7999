//! N4: the SUT and the QDL run on physically separate systems (rules, section 6.2.2).

use std::{collections::BTreeSet, net::SocketAddr};

use serde_json::Value;

use crate::{
    Finding, GroupedFinding, Outcome, Rule,
    facts::machines::ip,
    grouping::grouped,
    judge::machines::check_machines,
    record::{Evidence, Node, RunResult},
    subject::{Findings, RunEvidence, Subject, runs_with_evidence},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in runs_with_evidence(subject, found) {
        let text = "the machines at both ends are bare metal, with different boots, boards and hardware addresses";
        judge_run(&seen, Rule::N4, text, on_the_loadgen_node(&seen), found);
    }
    found.records(subject, address_differences);
    found.records(subject, |record| {
        let evidence = record.network_evidence().into_iter();
        evidence.flat_map(|evidence| unknown_peers(record, evidence))
    });
    for (run, record) in subject.records() {
        if let Some(text) = record.network_evidence().and_then(translated_address) {
            found.unknown(&run.record_place, text);
        }
    }
}

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

/// Returns differences between the nodes' addresses in the record, in the run's settings, and in
/// the routes of the LoadGen node's evidence.
fn address_differences(record: &RunResult) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(settings) = record.recorded_settings() else { return wrong };
    let given = settings.get("nodes").and_then(Value::as_array);
    let given: Option<Vec<_>> =
        given.map(|given| given.iter().filter_map(Value::as_str).map(str::trim).collect());
    let addresses: BTreeSet<_> = record.nodes.iter().map(|node| node.address.as_str()).collect();
    for address in given.iter().flatten().filter(|address| !addresses.contains(*address)) {
        wrong.push(format!(
            "the settings of the run have the node {address}, and the record has no node there"
        ));
    }
    let routes = record.evidence.as_ref().map_or(&[][..], |all| &all.loadgen_node.routes);
    let is_reached = |node: &&Node| {
        routes.is_empty() || routes.iter().any(|route| leads_to(&node.address, &route.peer))
    };
    for Node { name, address, .. } in record.nodes.iter().filter(|node| !is_reached(node)) {
        wrong.push(format!(
            "node {name} was at {address}, and no route in the LoadGen node's evidence leads there"
        ));
    }
    // A host name, a range or a file in the settings denotes several addresses, so that a node's
    // address need not be in the settings.
    let is_address = |text: &&str| text.parse::<SocketAddr>().is_ok();
    let given = given.filter(|given| given.iter().all(is_address));
    let is_stranger =
        |node: &&Node| given.as_ref().is_some_and(|given| !given.contains(&node.address.as_str()));
    if let Some(Node { name, address, .. }) = record.nodes.iter().find(is_stranger) {
        wrong.push(format!("node {name} was at {address}, which is not in the run's settings"));
    }
    wrong
}

/// Returns true if a route to `peer` leads to a node at `address`: the texts or the IP addresses
/// are equal.
fn leads_to(address: &str, peer: &str) -> bool {
    address == peer || ip(peer).is_some_and(|peer| ip(address) == Some(peer))
}

/// Returns the routes of the LoadGen node to peers that are not nodes of the run.
fn unknown_peers(record: &RunResult, evidence: &Evidence) -> impl Iterator<Item = String> {
    let routes = evidence.loadgen_node.routes.iter();
    let is_of_node =
        move |peer: &str| record.nodes.iter().any(|node| leads_to(&node.address, peer));
    routes.filter(move |route| !is_of_node(&route.peer)).map(|route| {
        format!("the LoadGen node had a route to {}, which is not a node of the run", route.peer)
    })
}

/// Returns a finding about a node that saw the LoadGen node at an address which the LoadGen node
/// does not have.
fn translated_address(evidence: &Evidence) -> Option<String> {
    let routes = &evidence.loadgen_node.routes;
    let own: BTreeSet<_> =
        routes.iter().filter_map(|route| ip(route.local_address.as_ref()?)).collect();
    let is_own = |peer: &str| own.is_empty() || ip(peer).is_some_and(|peer| own.contains(&peer));
    let mut peers = evidence
        .nodes
        .iter()
        .flat_map(|(name, machine)| machine.routes.iter().map(move |route| (name, &route.peer)));
    let (name, peer) = peers.find(|(_, peer)| !is_own(peer))?;
    Some(format!(
        "node {name} saw the LoadGen node at {peer}, which is not an address of the LoadGen node: something between them \
         translates addresses; document it"
    ))
}

/// Returns the nodes that the LoadGen node reached at a loopback or unspecified address.
fn on_the_loadgen_node(seen: &RunEvidence) -> impl Iterator<Item = (Outcome, String)> {
    let is_local =
        |node: &&Node| ip(&node.address).is_some_and(|ip| ip.is_loopback() || ip.is_unspecified());
    seen.record.nodes.iter().filter(is_local).map(|Node { name, address, .. }| {
        let text = format!(
            "node {name} was reached at {address}, on the LoadGen node itself: run it on another machine"
        );
        (Outcome::Fail, text)
    })
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
