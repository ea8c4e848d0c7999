//! Judges outputs of language models: their maximum length, where runs of a benchmark differ in it,
//! and the choice of their tokens (rules, section 4.1.3).

use crate::{
    Outcome,
    book::Benchmark,
    judge::{
        engines::{check_decoding, check_published_decoding, check_sampling_seed},
        limits::USUAL_LIMIT,
    },
    record::{DatasetPart, RunResult},
    subject::{Findings, PlaceJudgement, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        let (Some(record), Some(benchmark)) = (run.result(), entry.benchmark) else { continue };
        let mut at = found.at(&run.record_place);
        limit(benchmark, record, &mut at);
        at.fail_each(other_choices(benchmark, record));
    }
}

/// Judges the maximum length of outputs in a run of a benchmark whose runs have different ones. For
/// other benchmarks, it is that of the model's file.
fn limit(benchmark: &Benchmark, record: &RunResult, at: &mut PlaceJudgement) {
    if !benchmark.own_performance_set {
        return;
    }
    let name = &benchmark.name;
    let Some(DatasetPart { name: part, max_output_tokens }) = record.dataset_part else {
        at.fail(format!(
            "runs of {name} have a maximum of output tokens for each part of its data set, and `{}` has no parts: give the .toml \
             file of deploy/data that lists them, and run again",
            record.dataset
        ));
        return;
    };
    let (limits, most) = (benchmark.output_limits(part), u64::from(max_output_tokens.get()));
    match limits.iter().position(|limit| *limit == most) {
        Some(0) => {}
        Some(_) => at.find(
            Outcome::Pass,
            format!("outputs have at most {most} tokens; the rules state {}, and {USUAL_LIMIT}", limits[0]),
        ),
        None => at.fail(format!(
            "outputs had a maximum of {most} tokens, and runs of {name} with the part {part} have {}: prepare the data set again \
             (deploy/data), and run again",
            limits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
        )),
    }
}

/// Returns the nodes that chose the tokens of outputs in another way than the benchmark requires,
/// each with the reason.
fn other_choices(benchmark: &Benchmark, record: &RunResult) -> Vec<String> {
    let machines = record.evidence.as_ref().map(|evidence| &evidence.nodes);
    let whys = record.nodes.iter().flat_map(|node| {
        let machine = machines.and_then(|machines| machines.get(&node.name));
        let whys = [
            check_decoding(benchmark, node.decoding),
            check_sampling_seed(node),
            machine.and_then(|machine| check_published_decoding(node, machine)),
        ];
        whys.into_iter().flatten().map(move |why| format!("node {}: {why}", node.name))
    });
    whys.collect()
}
