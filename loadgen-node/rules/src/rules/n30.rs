//! N30: the same program gives the same responses in accuracy and performance mode (rules, section
//! 5.1).

use std::collections::BTreeMap;

use super::n34::answers_differ;
use crate::{
    book::Benchmark,
    facts::node_software::{NodeSoftware, SETTING},
    record::RunResult,
    subject::{Findings, ResultEntry, Subject},
    tree::VERIFY_ACCURACY,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        same_code(entry, found);
        if let Some(benchmark) = found.benchmark(entry) {
            same_answers(subject, entry, benchmark, found);
        }
    }
}

/// Finds runs of a result with different programs, models or settings.
fn same_code(entry: &ResultEntry, found: &mut Findings) {
    let mut records = entry.records();
    let Some((first_place, first)) = records.next() else { return };
    for (place, record) in records {
        let differ = differences(first, record);
        if !differ.is_empty() {
            let text = format!(
                "differs from {first_place} in {}: repeat all runs with one configuration",
                differ.join(", ")
            );
            found.fail(place, text);
        }
    }
}

fn differences(one: &RunResult, other: &RunResult) -> Vec<String> {
    let of_run = [
        ("sources", one.versions.sources_sha256 == other.versions.sources_sha256),
        ("encoding", one.encoding == other.encoding),
        ("transport", (&one.transport, one.tls) == (&other.transport, other.tls)),
        ("tensors of a sample", one.input == other.input),
    ];
    let of_run = of_run.into_iter().filter(|(_, same)| !same).map(|(what, _)| what.to_owned());
    of_run.chain(of_nodes(&one.running(), &other.running())).collect()
}

/// Returns the differences between the nodes of two runs: `nodes` if their names differ, otherwise
/// each property that both runs know and that has different values.
fn of_nodes(
    one: &BTreeMap<&str, NodeSoftware>,
    other: &BTreeMap<&str, NodeSoftware>,
) -> Vec<String> {
    if !one.keys().eq(other.keys()) {
        return vec!["nodes".into()];
    }
    let mut differ: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (node, running) in one {
        for (what, value) in running.iter().filter(|(what, _)| !what.starts_with(SETTING)) {
            if other[node].get(what).is_some_and(|other| other != value) {
                differ.entry(what).or_default().push(node);
            }
        }
    }
    differ.into_iter().map(|(what, nodes)| format!("{what} of {}", nodes.join(", "))).collect()
}

/// Requires a compliance test that compares the responses of both modes, and that passes. Digests
/// cannot replace it: they cover one run, and show nothing about the other mode.
fn same_answers(
    subject: &Subject,
    entry: &ResultEntry,
    benchmark: &Benchmark,
    found: &mut Findings,
) {
    let mut at = found.at(&entry.place);
    if benchmark.sampled {
        let name = &benchmark.name;
        return at.or_pass(format!("outputs of {name} are sampled: no two answers are compared"));
    }
    let mut tests = benchmark.compliance.iter().filter(|test| test.compares_responses()).peekable();
    let may_compare = tests.peek().is_some() || benchmark.tests().next().is_none();
    let (Some(tree), Some(place), Some(_)) = (&subject.tree, &entry.tree, tests.peek()) else {
        return at.unknown(if may_compare {
            "no test compared the responses of both modes, and digests cover one mode only: run TEST01 or TEST06, and check \
             the submission of all runs"
        } else {
            "no test compares the responses of both modes one by one"
        });
    };
    for test in tests {
        let folder = place.compliance(test.name());
        if !tree.path(&folder).join(VERIFY_ACCURACY).exists() {
            let text = format!(
                "{test} compares the responses of both modes, and its verdict is missing (N34)"
            );
            at.unknown_at(folder, text);
        } else if answers_differ(tree, place, *test, benchmark, &subject.formats()).is_some() {
            let text = format!("{test}, which compares responses of both modes, did not pass");
            at.fail_at(folder, text);
        }
    }
    at.or_pass(
        "one program, one model and one configuration answered in both modes, and the answers are the same",
    );
}
