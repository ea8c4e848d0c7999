//! `bandwidth.md`: the bandwidth that Appendix B requires at the measured throughput, compared with
//! the capacity of the network interfaces (N27).

use super::{
    markdown::{known, table},
    results::RecordedResult,
};
use crate::{
    book::TokenLimits,
    facts::rate::format_rate,
    judge::bandwidth::{Demand, MachineDemand, TrafficDirection},
};

/// Generates the document, with the same computation as the check.
pub(super) fn bandwidth(system: &str, results: &[RecordedResult<'_>]) -> String {
    let mut results: Vec<_> = results.iter().collect();
    results.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = format!(
        "# Bandwidth of {system}\n\nAppendix B of the rules: throughput times the bytes of a sample, by the formula with the \
         element types that were sent. Where what was sent is longer on average, that counts instead. The longer of both \
         directions is asked of each machine, for the samples that went through it. The capacity is what the interfaces on \
         its routes carry together, in each direction.\n"
    );
    for result in results {
        text += &format!("\n## {}\n\n{}", result.name, result_section(result));
    }
    text
}

fn result_section(result: &RecordedResult<'_>) -> String {
    let Some(benchmark) = result.benchmark else {
        return "Appendix B does not name this benchmark.\n".into();
    };
    let Some(evidence) = &result.performance.evidence else {
        return "The run has no evidence of the machines.\n".into();
    };
    let Some(rate) = result.rate else { return "The run has no throughput.\n".into() };
    let demand = Demand::of(benchmark, result.performance, evidence, rate);
    let Some(row) = &demand.row else {
        return "Appendix B does not name this benchmark.\n".into();
    };
    let mut text = format!(
        "{rate:.1} samples per second. Formula: {}; to the SUT {}, from it {} (`{}`): {} bytes. Sent: {:.0} bytes on \
         average.\n\n",
        row.formula,
        row.rules_ingress,
        row.rules_egress,
        row.name,
        demand.samples.formula.max(demand.responses.formula),
        demand.samples.sent.max(demand.responses.sent)
    );
    if let Some(limits) = benchmark.tokens() {
        text += &tokens(&demand, limits, rate);
    }
    let line = |end: &MachineDemand| {
        let share = end.capacity.map(|capacity| format!("{:.1} %", 100.0 * end.asked / capacity));
        [
            end.who.clone(),
            format!("{:.0}", end.asked / 8.0),
            format_rate(end.asked),
            known(&end.capacity.map(format_rate)),
            known(&share),
        ]
    };
    let head = ["machine", "bytes per second", "asked", "capacity", "of the capacity"];
    text += &table(head, demand.ends.iter().map(line));
    let met: Vec<_> = demand.ends.iter().map(MachineDemand::is_met).collect();
    text += if met.contains(&Some(false)) {
        "\n**The interfaces do not carry it.**\n"
    } else if met.contains(&None) {
        "\nWhether the interfaces carry it is not known.\n"
    } else {
        "\nThe interfaces carry it.\n"
    };
    text
}

/// Generates a table of both directions of a language model's samples: prompts and outputs have
/// different numbers of token ids.
fn tokens(demand: &Demand, limits: TokenLimits, rate: f64) -> String {
    let line = |way: &str, tokens: u64, bytes: TrafficDirection| {
        [
            way.to_owned(),
            tokens.to_string(),
            bytes.formula.to_string(),
            format!("{:.0}", bytes.sent),
            format!("{:.0}", rate * bytes.bytes()),
        ]
    };
    let head = ["token ids", "at most", "bytes, by Appendix B", "bytes sent", "bytes per second"];
    let ways = [
        line("to the SUT", limits.prompt, demand.samples),
        line("from it", limits.output_max, demand.responses),
    ];
    table(head, ways) + "\n"
}
