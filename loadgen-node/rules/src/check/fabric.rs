//! N5 by the metadata: `network_type` names a permitted fabric, and that of the runs (rules, section 6.2.2).

use std::collections::BTreeSet;

use super::{
    checked_folder::{Subject, System},
    findings::{At, Findings},
};
use crate::{
    Rule::N5,
    facts::{fabric, interfaces::Interfaces as _},
};

/// What they forbid, as words of their own.
const FORBIDDEN: [&str; 10] =
    ["pcie", "pci", "cxl", "ccix", "hypertransport", "nvlink", "qpi", "upi", "ici", "thunderbolt"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for system in &subject.systems {
        if let Some(text) = system.text("network_type") {
            network_type(&text, &kinds(subject, system), found.at(N5, &system.place));
        }
    }
}

/// The kinds of the interfaces that the system's runs went over, as far as they are permitted.
fn kinds(subject: &Subject, system: &System) -> BTreeSet<&'static str> {
    let records = subject.records_of(system);
    let evidence = records.filter_map(|(_, record)| record.evidence.as_ref());
    let machines = evidence.flat_map(|all| all.machines());
    let kinds = machines.flat_map(|(_, machine)| machine.carriers().used);
    kinds.filter_map(|carrier| Some(fabric::of_kind(&carrier.kind)?.kind)).collect()
}

fn network_type(text: &str, kinds: &BTreeSet<&str>, mut at: At) {
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
        at.fail(format!("network_type is `{text}`, but the runs went over {kind}"));
    }
    at.or_pass(format!("network_type is {text}"));
}
