//! Judgements shared by rules, and by generated documents.

pub(crate) mod bandwidth;
pub(crate) mod engines;
pub(crate) mod limits;
pub(crate) mod machines;
pub(crate) mod samples;

use netdiv_node_common::words::count;

use crate::{
    book::{Benchmark, Compression, Round, Suite, Table},
    record::{DatasetPart, Node, PartName},
};

/// Returns a text if the nodes' token counts contain answers of only one token (N33).
pub(crate) fn check_one_token_answers(nodes: &[Node]) -> Option<String> {
    let ones = nodes.iter().filter_map(|node| Some(node.tokens.as_ref()?.one_token_answers));
    let ones = ones.fold(0, u64::saturating_add);
    (ones > 0).then(|| {
        format!(
            "{} of one token: LoadGen has no time for a further one and logs an error. Let the engine return at least two tokens \
             (min_tokens), and run again",
            count(ones as usize, "answer")
        )
    })
}

/// Returns a text if an answer has more tokens than the part of the data set allows, or the
/// benchmark if the data set has no parts.
pub(crate) fn check_longest_answer(
    benchmark: &Benchmark,
    part: Option<DatasetPart>,
    nodes: &[Node],
) -> Option<String> {
    let of_part = part.map(|part| part.max_output_tokens.get().into());
    let most = of_part.or(benchmark.output_limits(PartName::Accuracy).pop())?;
    let tokens = nodes.iter().filter_map(|node| node.tokens.as_ref());
    let longest = tokens.map(|tokens| tokens.per_answer.max).max()?;
    // The record's histograms have three significant digits: this is the end of a bucket.
    (longest > most + most / 2048 * 2).then(|| {
        format!(
            "an answer has {longest} tokens, and max_new_tokens is {most}: limit the outputs of the engine to that"
        )
    })
}

/// Returns the reason why a benchmark does not belong to the Network division, although the suite
/// has it.
pub fn check_network_rows(benchmark: &Benchmark) -> Option<String> {
    let is_unlisted =
        benchmark.compression == Compression::Unstated && benchmark.bandwidth.is_empty();
    is_unlisted.then(|| {
        format!(
            "section 6.2.4 and Appendix B have no row for {}, so that the Network division defines neither its samples nor their \
             bandwidth: submit it in the Closed or the Open division",
            benchmark.name
        )
    })
}

/// Returns the reason why the datacenter suite does not have the benchmark `name`.
pub fn check_suite(table: &Table, name: &str) -> Option<String> {
    let what = match table.find(name).map(|benchmark| benchmark.suite) {
        Some(Suite::Datacenter) => return None,
        Some(Suite::Edge) => {
            "belongs to the edge suite only, which netdiv does not support".to_owned()
        }
        Some(Suite::Retired) => "is no longer a benchmark".into(),
        None => format!("is not a benchmark{}", table.meant(name)),
    };
    let names = table.benchmarks.iter().filter(|benchmark| benchmark.suite == Suite::Datacenter);
    let names: Vec<_> = names.map(|benchmark| benchmark.name.as_str()).collect();
    Some(format!("{name} {what}; the datacenter suite has {}", names.join(", ")))
}

/// Returns the reason why a benchmark of the datacenter suite does not belong to a round.
pub(crate) fn check_benchmark_round(benchmark: &Benchmark, round: &Round) -> Option<String> {
    let Benchmark { name, rounds, suite, .. } = benchmark;
    (*suite == Suite::Datacenter && !rounds.contains(&round.name)).then(|| {
        let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
        format!("{name} is not a benchmark of round {}, but of {}", round.name, rounds.join(", "))
    })
}
