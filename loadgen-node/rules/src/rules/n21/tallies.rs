//! Compares counts and times of each node in a record: batches with responses, and percentiles with
//! each other.

use crate::{
    record::Node,
    subject::{Findings, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    found.records(subject, |record| record.nodes.iter().flat_map(differences));
}

fn differences(node: &Node) -> Vec<String> {
    let Node { name, answered, batches, .. } = node;
    let mut wrong = Vec::new();
    // For each size, one batch may have been answered in part.
    let room = |spare: u64| {
        let samples = batches.iter().map(|(size, count)| {
            let size = u64::from(*size).max(1);
            size.saturating_mul(*count).saturating_sub(if *count > 0 {
                spare.min(size - 1)
            } else {
                0
            })
        });
        samples.fold(0, u64::saturating_add)
    };
    let (least, most) = (room(u64::MAX), room(0));
    if !batches.is_empty() && !(least..=most).contains(answered) {
        wrong.push(format!(
            "node {name} answered {answered} samples, and its batches had {least} to {most}"
        ));
    }
    let of_tokens = node.tokens.iter().flat_map(|tokens| {
        [
            ("per_answer", &tokens.per_answer),
            ("first_ns", &tokens.first_ns),
            ("further_ns", &tokens.further_ns),
            ("prefill_ns", &tokens.prefill_ns),
            ("decode_ns", &tokens.decode_ns),
        ]
    });
    let times = node.times().into_iter().chain(of_tokens);
    let odd = times.filter(|(_, times)| !times.is_ordered());
    wrong.extend(odd.map(|(what, _)| {
        format!("the percentiles of {what} at node {name} do not rise to its maximum")
    }));
    wrong
}
