//! N5 by the metadata: `network_type` names a permitted fabric, and that of the runs (rules, section 6.2.2).

use std::collections::BTreeSet;

use super::{
    findings::Findings,
    machines::carriers,
    subject::{Subject, System},
};
use crate::Rule;

const N5: Rule = Rule::new(5);

/// What the rules permit, in the words that are in use, by the kind of the interfaces.
const PERMITTED: [(&str, &[&str]); 4] = [
    ("ethernet", &["ethernet", "802.3", "roce"]),
    ("wifi", &["802.11", "wi-fi", "wifi", "wlan"]),
    ("infiniband", &["infiniband"]),
    ("3gpp", &["3gpp", "5g", "lte"]),
];

/// What they forbid, as words of their own.
const FORBIDDEN: [&str; 10] =
    ["pcie", "pci", "cxl", "ccix", "hypertransport", "nvlink", "qpi", "upi", "ici", "thunderbolt"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for system in &subject.systems {
        network_type(system, &kinds(subject, system), found);
    }
}

/// The kinds of the interfaces that the system's runs went over, as far as they are permitted.
fn kinds(subject: &Subject, system: &System) -> BTreeSet<String> {
    let records = subject.records_of(system);
    let evidence = records.filter_map(|(_, record)| record.evidence.as_ref());
    let machines =
        evidence.flat_map(|all| std::iter::once(&all.loadgen_node).chain(all.nodes.values()));
    machines
        .flat_map(|machine| carriers(machine).used)
        .map(|interface| interface.kind.clone())
        .filter(|kind| PERMITTED.iter().any(|(permitted, _)| permitted == kind))
        .collect()
}

fn network_type(system: &System, kinds: &BTreeSet<String>, found: &mut Findings) {
    let Some(text) = system.text("network_type") else { return };
    let lower = text.to_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    if let Some(word) = FORBIDDEN.iter().find(|word| words.contains(*word)) {
        let text = format!(
            "network_type is `{text}`: {word} is a bus interconnect, which the division forbids"
        );
        return found.fail(N5, &system.place, text);
    }
    let named: BTreeSet<_> = PERMITTED
        .iter()
        .filter(|(_, words)| words.iter().any(|word| lower.contains(word)))
        .map(|(kind, _)| (*kind).to_owned())
        .collect();
    if named.is_empty() {
        let text = format!(
            "network_type is `{text}`: name one of Ethernet, IEEE 802.11, InfiniBand and 3GPP"
        );
        return found.fail(N5, &system.place, text);
    }
    match kinds.iter().find(|kind| !named.contains(*kind)) {
        Some(kind) => {
            let text = format!("network_type is `{text}`, but the runs went over {kind}");
            found.fail(N5, &system.place, text);
        }
        None => found.pass(N5, &system.place, format!("network_type is {text}")),
    }
}
