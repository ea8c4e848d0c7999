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

/// Evidence about the machines of a run.
pub(crate) struct RunEvidence<'a> {
    /// Path of the run's record.
    pub(crate) place: &'a str,
    pub(crate) record: &'a RunResult,
    pub(crate) evidence: &'a Evidence,
}

impl<'a> RunEvidence<'a> {
    /// Returns the LoadGen node's machine, then the nodes' machines by name, each with its name for
    /// a sentence, such as `node a`.
    pub(crate) fn machines(&self) -> Vec<(String, &'a Machine)> {
        let who = |name: &str| match name {
            LOADGEN => "the LoadGen node".to_owned(),
            node => format!("node {node}"),
        };
        self.evidence.machines().map(|(name, machine)| (who(name), machine)).collect()
    }
}

/// Returns the evidence of all runs that have it. Reports for runs and nodes without evidence that
/// the rule cannot be judged.
pub(crate) fn runs_with_evidence<'a>(
    subject: &'a Subject,
    found: &mut Findings,
) -> Vec<RunEvidence<'a>> {
    let mut all = Vec::new();
    for (_, run) in subject.runs() {
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
        all.push(RunEvidence { place, record, evidence });
    }
    all
}

/// Reports that a machine's evidence lacks a statement: as a failure for a submission, and as
/// undecided for a run, which can be repeated with the statement.
pub(crate) fn report_missing(subject: &Subject, text: &str, at: &mut PlaceJudgement) {
    let outcome = if subject.tree.is_some() { Outcome::Fail } else { Outcome::CannotTell };
    at.find(outcome, format!("{text}: state it in the machine's evidence file and run again"));
}
