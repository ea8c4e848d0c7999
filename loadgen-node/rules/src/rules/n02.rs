//! N2: all rules of the Closed division (rules, sections 6.2 and 4.1.1). Other rules judge most of
//! these requirements; N2 judges the rest.

use serde_json::Value;

use super::{n01::round_violations, n15::lost_nodes, settings};
use crate::{
    Division, Scenario,
    book::{Benchmark, Round, TokenLatencies},
    facts::node_software::missing_model_reason,
    judge::{
        check_longest_answer, check_suite, engines::check_outputs, samples::check_prompt_length,
    },
    placeholder::is_placeholder,
    record::{Node, RunResult},
    subject::{Findings, RunKind, Subject},
};

mod data_set;
mod outputs;
mod quality;
mod same_system;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    if subject.division == Division::Closed {
        // For the other divisions, N1 and N15 judge this.
        for entry in &subject.results {
            let mut at = found.at(&entry.place);
            if subject.is_upcoming {
                at.fail_each(check_suite(subject.table, &entry.name));
            }
            at.fail_each(round_violations(subject, entry));
        }
        for (run, record) in subject.records() {
            found.at(&run.record_place).fail_each(lost_nodes(record));
        }
    }
    quality::judge(subject, found);
    for (entry, run) in subject.runs() {
        let Some(record) = run.result() else { continue };
        let texts = entry.benchmark.into_iter().flat_map(|benchmark| {
            other_outputs(benchmark, subject.round, record)
                .into_iter()
                .chain(token_violations(benchmark, record))
        });
        for text in texts.chain(nodes_without_model(record)).chain(misplaced_first_tokens(record)) {
            found.fail(&run.record_place, text);
        }
    }
    same_system::judge(subject, found);
    data_set::judge(subject, found);
    outputs::judge(subject, found);
    settings::judge_user_conf(subject, |kind| kind == RunKind::Performance, found);
    retraining(subject, found);
}

/// Returns the nodes that ran no model or an unknown one, each with the reason.
fn nodes_without_model(record: &RunResult) -> impl Iterator<Item = String> {
    record.nodes.iter().filter_map(|node| {
        let Node { name, engine, model_sha256, .. } = node;
        let why = missing_model_reason(engine, model_sha256)?;
        Some(format!("node {name}: {why}; run again with the benchmark's model"))
    })
}

/// Returns the nodes whose outputs do not count for the benchmark, each with the reason.
fn other_outputs(benchmark: &Benchmark, round: Option<&Round>, record: &RunResult) -> Vec<String> {
    let machines = record.evidence.iter().flat_map(|evidence| &evidence.nodes);
    let why = |(name, machine)| {
        let why = check_outputs(benchmark, round, machine).into_iter();
        why.map(move |why| format!("node {name}: {why}"))
    };
    machines.flat_map(why).collect()
}

/// Returns violations of the benchmark's requirements on tokens: how LoadGen counts them, and the
/// lengths of prompts and outputs.
fn token_violations(benchmark: &Benchmark, record: &RunResult) -> Vec<String> {
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
                "the run used {setting} {said}, and {name} requires {wanted}: leave the setting to LoadGen's mlperf.conf"
            ));
        }
    }
    let most = record.sample_bytes.map(|lengths| lengths.most);
    wrong.extend(most.and_then(|bytes| check_prompt_length(benchmark, &record.input, bytes)));
    wrong.extend(check_longest_answer(benchmark, record.dataset_part, &record.nodes));
    wrong
}

/// Returns nodes with times of first tokens in Offline, and nodes without them in another scenario.
fn misplaced_first_tokens(record: &RunResult) -> impl Iterator<Item = String> {
    record.nodes_with_tokens().filter_map(|(node, tokens)| {
        let is_timed = tokens.first_ns.max > 0;
        (is_timed != (record.scenario != Scenario::Offline)).then(|| {
            let what = if is_timed { "has times of first tokens" } else { "has no first tokens" };
            let name = &node.name;
            format!("node {name} {what}, which does not fit this scenario: take the record as the run wrote it")
        })
    })
}

/// Finds retrained models, which only the Open division accepts.
fn retraining(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let Some(Ok((path, json))) = &entry.measurements else { continue };
        let stated = json.get("retraining").and_then(Value::as_str).unwrap_or_default();
        // N35 finds missing fields.
        if subject.is_open() || is_placeholder(stated) {
            continue;
        }
        let text = format!("retraining is `{stated}`");
        match says_yes(stated) {
            Some(true) => {
                found.fail(
                    path,
                    format!("{text}: only the Open division accepts a retrained model"),
                );
            }
            Some(false) => {}
            None => found.unknown(
                path,
                format!(
                    "{text}, and only the Open division accepts a retrained model: write yes or no"
                ),
            ),
        }
    }
}

/// Returns true if a free text means yes, false if it means no, and `None` otherwise.
fn says_yes(text: &str) -> Option<bool> {
    let text = text.trim().trim_end_matches('.').to_lowercase().replace('\u{2019}', "'");
    let words = || text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let is_no =
        |word: &str| ["no", "none", "not", "n", "false"].contains(&word) || word.ends_with("n't");
    match text.as_str() {
        "yes" | "y" | "true" => Some(true),
        _ if words().any(is_no) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_are_read_as_people_write_them() {
        for text in [
            "no",
            "No ",
            "none",
            "N",
            "False",
            "We don\u{2019}t retrain the model weight.",
            "not retrained",
        ] {
            assert_eq!(says_yes(text), Some(false), "{text}");
        }
        for text in ["yes", "Yes.", "TRUE"] {
            assert_eq!(says_yes(text), Some(true), "{text}");
        }
        for text in ["", "fine-tuned on our data", "see README"] {
            assert_eq!(says_yes(text), None, "{text}");
        }
    }
}
