//! Of N2: every node ran a model (rules, section 4.1.1: a result is of the reference model).

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::N2,
    result::{Node, RunResult},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        for text in without_model(record) {
            found.fail(N2, &run.record_place, text);
        }
    }
}

/// The nodes that ran no model, each with why.
fn without_model(record: &RunResult) -> impl Iterator<Item = String> {
    record.nodes.iter().filter_map(|node| {
        let Node { name, engine, model_sha256, .. } = node;
        let why = match engine.trim().to_lowercase().as_str() {
            "echo" | "none" | "" => format!("its engine is `{engine}`"),
            _ if model_sha256.trim().is_empty() => "it named no model file".into(),
            _ => return None,
        };
        Some(format!("no model ran at node {name}: {why}; run again with the benchmark's model"))
    })
}
