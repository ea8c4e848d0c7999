//! N5: a permitted fabric leads from the QDL to the SUT (rules, section 6.2.2).

use std::collections::BTreeSet;

use super::separation::judge_run;
use crate::{
    Outcome, Rule,
    facts::{fabric, interfaces::Interfaces as _},
    subject::{Findings, PlaceJudgement, RunEvidence, Subject, System, runs_with_evidence},
};

/// Bus interconnects that the rules forbid, as lower-case words in the field `network_type`.
const FORBIDDEN: [&str; 10] =
    ["pcie", "pci", "cxl", "ccix", "hypertransport", "nvlink", "qpi", "upi", "ici", "thunderbolt"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in runs_with_evidence(subject, found) {
        let text = "every path between them uses an interface of a permitted fabric";
        judge_run(&seen, Rule::N5, text, unrouted(&seen), found);
    }
    for system in &subject.systems {
        if let Some(text) = system.text("network_type") {
            network_type(&text, &kinds(subject, system), found.at(&system.place));
        }
    }
}

fn unrouted(seen: &RunEvidence) -> impl Iterator<Item = (Outcome, String)> {
    let unrouted = seen.evidence.nodes.iter().filter(|(_, machine)| machine.routes.is_empty());
    unrouted.map(|(name, _)| {
        let text = format!("node {name} did not report the interface of its connection");
        (Outcome::CannotTell, text)
    })
}

/// Returns the kinds of interfaces that the system's runs used, without kinds that are not
/// permitted.
fn kinds(subject: &Subject, system: &System) -> BTreeSet<&'static str> {
    let records = subject.records_of(system);
    let evidence = records.filter_map(|(_, record)| record.evidence.as_ref());
    let machines = evidence.flat_map(|all| all.machines());
    let kinds = machines.flat_map(|(_, machine)| machine.carriers().used);
    kinds.filter_map(|carrier| Some(fabric::of_kind(&carrier.kind)?.kind)).collect()
}

fn network_type(text: &str, kinds: &BTreeSet<&str>, mut at: PlaceJudgement) {
    let lower = text.to_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let named = fabric::named_in(text);
    if let Some(word) = FORBIDDEN.iter().find(|word| words.contains(*word)) {
        at.fail(format!(
            "network_type is `{text}`: {word} is a bus interconnect, which the division forbids"
        ));
    } else if named.is_empty() {
        at.fail(format!(
            "network_type is `{text}`: name one of Ethernet, IEEE 802.11, InfiniBand and 3GPP"
        ));
    } else if let Some(kind) =
        kinds.iter().find(|kind| !named.iter().any(|fabric| fabric.kind == **kind))
    {
        at.fail(format!("network_type is `{text}`, but the runs used {kind}"));
    }
    at.or_pass(format!("network_type is {text}"));
}
