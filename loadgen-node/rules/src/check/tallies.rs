//! Of N21: what a record counts and measures at its nodes fits together: batches and answers, and times in their order.

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::N21,
    result::{Distribution, Node},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        for text in record.nodes.iter().flat_map(differences) {
            let text = format!("{text}: take the record as the run wrote it");
            found.fail(N21, &run.record_place, text);
        }
    }
}

fn differences(node: &Node) -> Vec<String> {
    let Node { name, answered, batches, latency_ns, stages_ns, .. } = node;
    let mut wrong = Vec::new();
    // Of each size one batch may have been answered in part.
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
    let times = [
        ("latency_ns", latency_ns),
        ("qdl_queue", &stages_ns.qdl_queue),
        ("network", &stages_ns.network),
        ("sut_queue", &stages_ns.sut_queue),
        ("compute", &stages_ns.compute),
    ];
    let of_tokens = node.tokens.iter().flat_map(|tokens| {
        [
            ("per_answer", &tokens.per_answer),
            ("first_ns", &tokens.first_ns),
            ("further_ns", &tokens.further_ns),
            ("prefill_ns", &tokens.prefill_ns),
            ("decode_ns", &tokens.decode_ns),
        ]
    });
    let odd = times.into_iter().chain(of_tokens).filter(|(_, times)| !is_ordered(times));
    wrong.extend(odd.map(|(what, _)| {
        format!("the percentiles of {what} at node {name} do not rise to its maximum")
    }));
    wrong
}

fn is_ordered(times: &Distribution) -> bool {
    let Distribution { mean, p50, p90, p99, p99_9, max } = times;
    [p50, p90, p99, p99_9, max].is_sorted() && (0.0..=*max as f64).contains(mean)
}
