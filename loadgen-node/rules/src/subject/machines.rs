//! What the machines of a run said of themselves.

use netdiv_contract::v1::Machine;

use super::{
    Subject,
    findings::{At, Findings},
};
use crate::{
    Outcome,
    facts::machines::LOADGEN,
    record::{Evidence, RunResult},
};

/// A run whose machines are known.
pub(crate) struct Seen<'a> {
    /// Where its record is.
    pub(crate) place: &'a str,
    /// The system that it was made on, in a tree.
    pub(crate) system: Option<&'a str>,
    pub(crate) record: &'a RunResult,
    pub(crate) evidence: &'a Evidence,
}

impl<'a> Seen<'a> {
    /// The LoadGen node, then the nodes by name; each with its name in a sentence.
    pub(crate) fn machines(&self) -> Vec<(String, &'a Machine)> {
        let who = |name: &str| match name {
            LOADGEN => "the LoadGen node".to_owned(),
            node => format!("node {node}"),
        };
        self.evidence.machines().map(|(name, machine)| (who(name), machine)).collect()
    }
}

/// All runs with evidence; for the others, and for nodes that said nothing, the rule cannot be told.
pub(crate) fn seen<'a>(subject: &'a Subject, found: &mut Findings) -> Vec<Seen<'a>> {
    let mut all = Vec::new();
    for (entry, run) in subject.runs() {
        let place = &run.record_place;
        let Some(record) = run.result() else { continue };
        let mut at = found.at(place);
        let Some(evidence) = &record.evidence else {
            at.unknown(
                "the run did not ask the machines what they are: run again with a loadgen-node and nodes that do",
            );
            continue;
        };
        for node in record.nodes.iter().filter(|node| !evidence.nodes.contains_key(&node.name)) {
            at.unknown(format!("node {} said nothing of its machine", node.name));
        }
        all.push(Seen { place, system: entry.system(), record, evidence });
    }
    all
}

/// What a submission must say, and what a run may still be told.
pub(crate) fn lacking(subject: &Subject, text: &str, at: &mut At) {
    let outcome = if subject.tree.is_some() { Outcome::Fail } else { Outcome::CannotTell };
    at.find(outcome, format!("{text}: state it in the machine's evidence file and run again"));
}
