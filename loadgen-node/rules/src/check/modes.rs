//! N30: the same program answers the same in accuracy and performance mode (rules, section 5.1).

use super::{
    checked_folder::{Entry, NO_BENCHMARK, Subject},
    compliance_tests::answers_differ,
    findings::Findings,
};
use crate::{
    Rule::N30,
    book::{Benchmark, Test},
    result::{Node, RunResult},
    tree::VERIFY_ACCURACY,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        same_code(entry, found);
        match entry.benchmark {
            Some(benchmark) => same_answers(subject, entry, benchmark, found),
            None => {
                found.unknown(N30, &entry.place, NO_BENCHMARK);
            }
        }
    }
}

/// Every run of a result was made by the same program, with the same model and settings.
fn same_code(entry: &Entry, found: &mut Findings) {
    let mut records = entry.records();
    let Some((first_place, first)) = records.next() else { return };
    for (place, record) in records {
        let differ = differences(first, record);
        if !differ.is_empty() {
            let text =
                format!("{} not as in {first_place}: run all again alike", differ.join(", "));
            found.fail(N30, place, text);
        }
    }
}

fn differences(one: &RunResult, other: &RunResult) -> Vec<&'static str> {
    let nodes = |record: &RunResult, of: fn(&Node) -> &str| -> Vec<String> {
        let mut nodes: Vec<_> =
            record.nodes.iter().map(|node| format!("{} {}", node.name, of(node))).collect();
        nodes.sort();
        nodes
    };
    let same_nodes = |of| nodes(one, of) == nodes(other, of);
    [
        ("sources", one.versions.sources_sha256 == other.versions.sources_sha256),
        ("model", same_nodes(|node| &node.model_sha256)),
        ("settings of the nodes", same_nodes(|node| &node.config_sha256)),
        ("version of the nodes' program", same_nodes(|node| &node.software_version)),
        ("encoding", one.encoding == other.encoding),
        ("transport", (&one.transport, one.tls) == (&other.transport, other.tls)),
        ("tensors of a sample", one.input == other.input),
    ]
    .into_iter()
    .filter(|(_, same)| !same)
    .map(|(what, _)| what)
    .collect()
}

/// The same responses, by a test. Digests are of one run, and say nothing of the other mode.
fn same_answers(subject: &Subject, entry: &Entry, benchmark: &Benchmark, found: &mut Findings) {
    let mut at = found.at(N30, &entry.place);
    let mut tests = benchmark.compliance.iter().filter(|test| **test != Test::Test04).peekable();
    let (Some(tree), Some(place), Some(_)) = (&subject.tree, &entry.tree, tests.peek()) else {
        return at.unknown(
            "no test compared the responses of both modes, and the digests are of one mode: run TEST01 or TEST06, and check \
             the submission of all runs",
        );
    };
    for test in tests {
        let folder = place.compliance(test.name());
        if !tree.path(&folder).join(VERIFY_ACCURACY).exists() {
            let text = format!(
                "{test} compares the responses of both modes, and its verdict is not there (N34)"
            );
            at.unknown_there(folder, text);
        } else if answers_differ(tree, place, *test, benchmark).is_some() {
            let text = format!("{test}, which compares responses of both modes, did not pass");
            at.fail_there(folder, text);
        }
    }
    at.or_pass(
        "one program, one model and one configuration answered in both modes, and the answers are the same",
    );
}
