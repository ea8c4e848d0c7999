//! What the machines of a run said of themselves.

use netdiv_contract::v1::Machine;

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule,
    facts::machines::LOADGEN,
    result::{Evidence, RunResult},
};

/// A run whose machines are known.
pub(super) struct Seen<'a> {
    /// Where its record is.
    pub(super) place: &'a str,
    pub(super) record: &'a RunResult,
    pub(super) evidence: &'a Evidence,
}

impl<'a> Seen<'a> {
    /// The LoadGen node, then the nodes by name; each with its name in a sentence.
    pub(super) fn machines(&self) -> Vec<(String, &'a Machine)> {
        let who = |name: &str| match name {
            LOADGEN => "the LoadGen node".to_owned(),
            node => format!("node {node}"),
        };
        self.evidence.machines().map(|(name, machine)| (who(name), machine)).collect()
    }
}

/// All runs with evidence; for the others, and for nodes that said nothing, the rule cannot be told.
pub(super) fn seen<'a>(subject: &'a Subject, rule: Rule, found: &mut Findings) -> Vec<Seen<'a>> {
    let mut all = Vec::new();
    for (_, run) in subject.runs() {
        let place = &run.record_place;
        match run.result().map(|record| (record, &record.evidence)) {
            Some((record, Some(evidence))) => all.push(Seen { place, record, evidence }),
            Some((_, None)) => {
                let text = "the run did not ask the machines what they are: run again with a \
                            loadgen-node and nodes that do";
                found.unknown(rule, place, text);
            }
            None => found.unknown(rule, place, NO_RECORD),
        }
    }
    for seen in &all {
        for node in &seen.record.nodes {
            if !seen.evidence.nodes.contains_key(&node.name) {
                let text = format!("node {} said nothing of its machine", node.name);
                found.unknown(rule, seen.place, text);
            }
        }
    }
    all
}

/// Why much cannot be told of a run.
pub(super) const NO_RECORD: &str =
    "the record of the run cannot be read: keep the result.json that loadgen-node writes";

/// What a submission must say, and what a run may still be told.
pub(super) fn lacking(
    subject: &Subject,
    rule: Rule,
    place: &str,
    text: String,
    found: &mut Findings,
) {
    let text = format!("{text}: state it in the machine's evidence file and run again");
    match subject.tree {
        Some(_) => found.fail(rule, place, text),
        None => found.unknown(rule, place, text),
    }
}
