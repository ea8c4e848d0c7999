//! The engines of the nodes: of N2, that each ran a model; of N10, that it computed every prompt.

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{N2, N10},
    judge::engines::{reuses_prompts, without_model},
    result::{Node, RunResult},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        for text in no_model(record) {
            found.fail(N2, &run.record_place, text);
        }
        for text in reused(record) {
            found.fail(N10, &run.record_place, text);
        }
    }
}

/// The nodes that ran no model, each with why.
fn no_model(record: &RunResult) -> impl Iterator<Item = String> {
    record.nodes.iter().filter_map(|node| {
        let Node { name, engine, model_sha256, .. } = node;
        let why = without_model(engine, model_sha256)?;
        Some(format!("no model ran at node {name}: {why}"))
    })
}

/// The nodes that may have reused what they computed for other prompts, each with why.
fn reused(record: &RunResult) -> impl Iterator<Item = String> {
    let machines = record.evidence.as_ref().map(|evidence| &evidence.nodes);
    record.nodes.iter().filter_map(move |Node { name, engine, .. }| {
        let why = reuses_prompts(engine, machines?.get(name)?)?;
        Some(format!("node {name}: {why}"))
    })
}
