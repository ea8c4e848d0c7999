//! The engines of the nodes: of N2, that each ran a model, and where that ends its outputs; of N10, that it computed every prompt.

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{N2, N10},
    book::Benchmark,
    judge::engines::{other_outputs, reused_prompts, reuses_prompts, without_model},
    result::{Node, RunResult},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        let Some(record) = run.result() else { continue };
        for text in entry.benchmark.into_iter().flat_map(|one| ends_otherwise(one, record)) {
            found.fail(N2, &run.record_place, text);
        }
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

/// The nodes whose model ends its outputs elsewhere than the benchmark's, each with why.
fn ends_otherwise(benchmark: &Benchmark, record: &RunResult) -> Vec<String> {
    let machines = record.evidence.iter().flat_map(|evidence| &evidence.nodes);
    let why =
        |(name, machine)| Some(format!("node {name}: {}", other_outputs(benchmark, machine)?));
    machines.filter_map(why).collect()
}

/// The nodes that have reused, or may have, what they computed for other prompts, each with why.
fn reused(record: &RunResult) -> impl Iterator<Item = String> {
    let machines = record.evidence.as_ref().map(|evidence| &evidence.nodes);
    record.nodes.iter().flat_map(move |node| {
        let Node { name, engine, .. } = node;
        let machine = machines.and_then(|machines| machines.get(name));
        let by_settings = machine.and_then(|machine| reuses_prompts(engine, machine));
        let whys = by_settings.into_iter().chain(reused_prompts(node));
        whys.map(move |why| format!("node {name}: {why}"))
    })
}
