//! N9: no batching in the QDL: each sample is a message (rules, section 6.2.1).

use netdiv_node_common::words::Mode;

use crate::{
    record::{Node, RunResult},
    subject::{Findings, PlaceJudgement, RunFiles, RunKind, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        let mut at = found.at(&run.record_place);
        one_by_one(run, record, &mut at);
        at.or_pass(
            "each sample that LoadGen issued was sent in a separate message, and counted at the nodes",
        );
    }
}

fn one_by_one(run: &RunFiles, record: &RunResult, at: &mut PlaceJudgement) {
    let sent = record.total(|node| node.sent);
    let issued = record.samples.issued;
    if sent != issued {
        at.fail(format!("LoadGen issued {issued} samples, and {sent} messages were sent"));
    }
    for node in record.nodes.iter().filter(|node| node.acknowledged != node.sent) {
        let Node { name, sent, acknowledged, .. } = node;
        at.fail(format!("{sent} messages were sent to node {name}, which counted {acknowledged}"));
    }
    if let Some(logged) = logged_samples(run).filter(|logged| *logged != issued) {
        at.fail(format!(
            "LoadGen's log has {logged} samples, the record says that {issued} were issued"
        ));
    }
}

/// Returns the number of samples that LoadGen issued, according to its log.
fn logged_samples(run: &RunFiles) -> Option<u64> {
    let detail = run.detail()?;
    if detail.mode() == Some(Mode::Submission) {
        return None;
    }
    match run.kind {
        RunKind::Accuracy => detail.integer("qsl_reported_total_count"),
        RunKind::Performance | RunKind::Test(_) => {
            let queries = detail.integer("result_query_count")?;
            Some(queries.saturating_mul(detail.samples_per_query()?))
        }
        RunKind::Submission | RunKind::Digests => None,
    }
}
