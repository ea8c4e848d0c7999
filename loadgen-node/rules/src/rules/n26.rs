//! N26: an LLM receives token ids (rules, section 6.2.4).

use crate::{
    book::Benchmark,
    judge::samples::is_allowed_input,
    record::RunResult,
    subject::{Findings, PlaceJudgement, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let Some(benchmark) = found.benchmark(entry) else { continue };
        for (place, record) in entry.records() {
            input(benchmark, record, found.at(place));
        }
    }
}

fn input(benchmark: &Benchmark, record: &RunResult, mut at: PlaceJudgement) {
    let wanted = benchmark.inputs(" or ");
    match is_allowed_input(benchmark, &record.input) {
        None => at.unknown(format!("the tensors of a sample are unknown; expected {wanted}")),
        Some(true) => at.or_pass(format!("samples contain what the benchmark allows: {wanted}")),
        Some(false) => at.fail(format!(
            "a sample contains {}; expected {wanted}; the nodes must compute the rest from it, within the timed region",
            record.input.join(" + ")
        )),
    }
}
