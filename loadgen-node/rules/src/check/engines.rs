//! Of N2: every node ran a model.

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::N2,
    judge::engines::without_model,
    result::{Node, RunResult},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        for text in no_model(record) {
            found.fail(N2, &run.record_place, text);
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
