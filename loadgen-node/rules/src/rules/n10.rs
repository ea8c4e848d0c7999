//! N10: no caching of queries or responses, in the QDL or at the nodes (rules, sections 6.2.1 and
//! 6.2.3).

use super::n07::conclusive_digests;
use crate::{
    judge::engines::{check_prefix_caching, check_reused_prompts},
    record::{Comparison, Digests, Node, RunResult},
    subject::{Findings, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        for text in reusing_nodes(record) {
            found.fail(&run.record_place, text);
        }
    }
    if subject.is_upcoming {
        return;
    }
    for (place, record, Digests { samples, responses, .. }) in conclusive_digests(subject, found) {
        let mut at = found.at(place);
        at.fail_each(miscounted("samples", samples, record.samples.issued));
        let responses_of_loadgen = record.samples.completed.saturating_add(record.first_tokens());
        at.fail_each(miscounted("responses", responses, responses_of_loadgen));
        at.or_pass(format!(
            "each of {} samples was received by a node, and each response came from one",
            samples.sent
        ));
    }
}

/// Returns the nodes that have reused, or may have reused, results that they computed for other
/// prompts, each with the reason.
fn reusing_nodes(record: &RunResult) -> impl Iterator<Item = String> {
    let machines = record.evidence.as_ref().map(|evidence| &evidence.nodes);
    record.nodes.iter().flat_map(move |node| {
        let Node { name, engine, .. } = node;
        let machine = machines.and_then(|machines| machines.get(name));
        let by_settings = machine.and_then(|machine| check_prefix_caching(engine, machine));
        let whys = by_settings.into_iter().chain(check_reused_prompts(node));
        whys.map(move |why| format!("node {name}: {why}"))
    })
}

/// Returns a finding if the number of messages sent, or the number received, differs from `count`,
/// LoadGen's number. `what` names the messages.
fn miscounted(what: &str, tally: &Comparison, count: u64) -> Option<String> {
    let Comparison { sent, received, .. } = tally;
    ([sent, received] != [&count; 2])
        .then(|| format!("{sent} {what} were sent and {received} received; LoadGen has {count}"))
}
