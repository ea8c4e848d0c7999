//! N5: a permitted fabric leads from the QDL to the SUT (rules, section 6.2.2).

use super::n04::judge_run;
use crate::{
    Outcome, Rule,
    facts::fabric,
    placeholder::is_placeholder,
    subject::{Findings, PlaceJudgement, RunEvidence, Subject, runs_with_evidence},
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
        // N6 reports a placeholder.
        if let Some(text) = system.text("network_type").filter(|text| !is_placeholder(text)) {
            network_type(&text, found.at(&system.place));
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

fn network_type(text: &str, mut at: PlaceJudgement) {
    let lower = text.to_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    if let Some(word) = FORBIDDEN.iter().find(|word| words.contains(*word)) {
        at.fail(format!(
            "network_type is `{text}`: {word} is a bus interconnect, which the division forbids"
        ));
    } else if fabric::named_in(text).is_empty() {
        at.fail(format!(
            "network_type is `{text}`: name one of Ethernet, IEEE 802.11, InfiniBand and 3GPP"
        ));
    }
    at.or_pass(format!("network_type is {text}"));
}
