//! Evidence about the machines of runs.

use netdiv_contract::v1::Machine;

use super::{
    Subject,
    findings::{Findings, PlaceJudgement},
};
use crate::{
    Outcome,
    facts::machines::LOADGEN,
    record::{Evidence, RunResult},
};

/// Run with evidence about its machines.
pub(crate) struct RunEvidence<'a> {
    /// Path of its record.
    pub(crate) place: &'a str,
    /// System of the run, in a tree.
    pub(crate) system: Option<&'a str>,
    pub(crate) record: &'a RunResult,
    pub(crate) evidence: &'a Evidence,
}

impl<'a> RunEvidence<'a> {
    /// Returns the LoadGen node, then the nodes by name, each with a description for a sentence.
    pub(crate) fn machines(&self) -> Vec<(String, &'a Machine)> {
        let who = |name: &str| match name {
            LOADGEN => "the LoadGen node".to_owned(),
            node => format!("node {node}"),
        };
        self.evidence.machines().map(|(name, machine)| (who(name), machine)).collect()
    }
}

/// Returns all runs with evidence. Reports that the rule cannot be judged for other runs, and for
/// nodes without evidence.
pub(crate) fn runs_with_evidence<'a>(
    subject: &'a Subject,
    found: &mut Findings,
) -> Vec<RunEvidence<'a>> {
    let mut all = Vec::new();
    for (entry, run) in subject.runs() {
        let place = &run.record_place;
        let Some(record) = run.result() else { continue };
        let mut at = found.at(place);
        let Some(evidence) = &record.evidence else {
            at.unknown(
                "the run collected no evidence about the machines: run again with a loadgen-node and nodes that do",
            );
            continue;
        };
        for node in record.nodes.iter().filter(|node| !evidence.nodes.contains_key(&node.name)) {
            at.unknown(format!("node {} reported nothing about its machine", node.name));
        }
        all.push(RunEvidence { place, system: entry.system(), record, evidence });
    }
    all
}

/// Reports a missing statement: a failure for a submission, while a run may still supply it.
pub(crate) fn report_missing(subject: &Subject, text: &str, at: &mut PlaceJudgement) {
    let outcome = if subject.tree.is_some() { Outcome::Fail } else { Outcome::CannotTell };
    at.find(outcome, format!("{text}: state it in the machine's evidence file and run again"));
}
