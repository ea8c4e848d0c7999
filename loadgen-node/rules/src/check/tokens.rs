//! Tokens, as a record counts them: of N2 that they were measured as the benchmark wants it, and how many an answer may have; of
//! N18 that their bytes came over the network; of N21 that LoadGen counted as many; of N33 that every answer has a time for
//! each further token (rules, sections 4.1.1, 4.1.3, 6.2.3 and 5.1).

use netdiv_contract::{encoding::Encoding, tokens::ID_BYTES};
use netdiv_words::Mode;

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{self, N2, N18, N21, N33},
    Scenario,
    book::{Benchmark, TokenLatencies},
    judge::{answers::one_token, samples::too_long},
    official_log::{DetailLog, token_metric},
    result::{Node, RunResult, Tokens, Verdict},
};

/// LoadGen logs rates with six digits, and two of them are divided.
const DIGITS: f64 = 1e-4;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        let Some(record) = run.result() else { continue };
        let mut wrong = entry.benchmark.map_or_else(Vec::new, |one| of_benchmark(one, record));
        wrong.extend(of_record(record));
        let detail = run.detail().filter(|detail| detail.mode() == Some(Mode::Performance));
        let logged = detail.filter(|_| record.mode == Mode::Performance);
        wrong.extend(logged.and_then(|log| counted_otherwise(record, log)).map(|why| (N21, why)));
        for (rule, text) in wrong {
            found.fail(rule, &run.record_place, text);
        }
    }
}

/// What a benchmark asks of the tokens.
fn of_benchmark(benchmark: &Benchmark, record: &RunResult) -> Vec<(Rule, String)> {
    let mut wrong = Vec::new();
    for (setting, kind) in [
        ("use_token_latencies", TokenLatencies::Measured),
        ("infer_token_latencies", TokenLatencies::Inferred),
    ] {
        let wanted = benchmark.token_latencies == Some(kind);
        let said = record.test_settings.get(setting).is_some_and(|said| said == "true");
        if said != wanted {
            let name = &benchmark.name;
            wrong.push(format!(
                "the run was made with {setting} {said}, and for {name} it is {wanted}: leave it to LoadGen's mlperf.conf"
            ));
        }
    }
    let most = record.sample_bytes.map(|lengths| lengths.most);
    wrong.extend(most.and_then(|bytes| too_long(benchmark, &record.input, bytes)));
    let longest = each(record).map(|(_, tokens)| tokens.per_answer.max).max();
    let most = benchmark.tokens().map(|limits| limits.output_most);
    if let (Some(most), Some(longest)) = (most, longest)
        && longest > with_digits(most)
    {
        wrong.push(format!(
            "an answer has {longest} tokens, and max_new_tokens is {most}: let the engine end its outputs there"
        ));
    }
    wrong.into_iter().map(|text| (N2, text)).collect()
}

/// A histogram with three digits gives the end of the bucket that a value is in.
fn with_digits(value: u64) -> u64 {
    value + value / 2048 * 2
}

/// What the counts of a record contradict.
fn of_record(record: &RunResult) -> Vec<(Rule, String)> {
    let mut wrong = Vec::new();
    let are_counted =
        record.test_settings.get("use_token_latencies").is_some_and(|on| on == "true");
    let taken = "take the record as the run wrote it";
    let is_over = record.verdict != Verdict::Failed;
    for node in record.nodes.iter().filter(|node| is_over && node.answered > 0) {
        let Node { name, answered, bytes_received, response_encodings, .. } = node;
        let Some(tokens) = node.tokens.as_ref().filter(|_| are_counted) else {
            if are_counted != node.tokens.is_some() {
                let what = if are_counted { "has no tokens" } else { "has tokens" };
                wrong.push((
                    N21,
                    format!(
                        "node {name} {what}, and use_token_latencies is {are_counted}: {taken}"
                    ),
                ));
            }
            continue;
        };
        let is_timed = tokens.first_ns.max > 0;
        if is_timed != (record.scenario != Scenario::Offline) {
            let what = if is_timed { "has times of first tokens" } else { "has no first tokens" };
            wrong.push((
                N2,
                format!("node {name} {what}, which is not so in this scenario: {taken}"),
            ));
        }
        let mean = tokens.total as f64 / *answered as f64;
        if (mean - tokens.per_answer.mean).abs() > 0.001 * mean + 0.01 {
            wrong.push((
                N21,
                format!(
                    "node {name} gave {} tokens in {answered} answers, and {} in each: {taken}",
                    tokens.total, tokens.per_answer.mean
                ),
            ));
        }
        if tokens.within_bounds.is_some_and(|within| within > *answered)
            || tokens.one_token_answers > *answered
        {
            let text = format!(
                "node {name} counts more answers by their tokens than the {answered} that it gave: {taken}"
            );
            wrong.push((N21, text));
        }
        let bytes = tokens.total.saturating_mul(ID_BYTES as u64);
        // A node that was lost had sent more than was counted.
        let is_whole = node.lost.is_none() && node.redispatched == 0;
        if response_encodings == &[Encoding::None] && is_whole && *bytes_received != bytes {
            wrong.push((
                N18,
                format!("{bytes_received} bytes came from node {name}, and its tokens have {bytes}: {taken}"),
            ));
        }
    }
    wrong.extend(one_token(&record.nodes).map(|text| (N33, text)));
    wrong
}

/// LoadGen's tokens per second and samples per second have the same time below them; in Server neither counts the last sample's
/// way.
fn counted_otherwise(record: &RunResult, log: &DetailLog) -> Option<String> {
    let rate = log.throughput(record.scenario)?;
    let tokens = token_metric(record.scenario, log)?.value;
    let samples = match record.scenario {
        Scenario::Server => record.samples.completed.saturating_sub(1),
        _ => record.samples.completed,
    };
    let counted =
        each(record).map(|(_, tokens)| tokens.total - tokens.one_token_answers.min(tokens.total));
    let counted = each(record).next().map(|_| counted.fold(0, u64::saturating_add))? as f64;
    let logged = tokens / rate * samples as f64;
    ((logged - counted).abs() > counted * DIGITS + 1.0).then(|| {
        format!(
            "the nodes gave {counted} tokens, and by LoadGen's rates it was given {logged:.0}: take the record and the log as the run \
             wrote them"
        )
    })
}

fn each(record: &RunResult) -> impl Iterator<Item = (&Node, &Tokens)> {
    record.nodes.iter().filter_map(|node| Some((node, node.tokens.as_ref()?)))
}
