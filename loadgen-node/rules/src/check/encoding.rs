//! N25 and N26: how samples are compressed, and what an LLM is sent (rules, section 6.2.4).

use std::collections::BTreeSet;

use netdiv_contract::encoding::Encoding;

use super::{
    checked_folder::{Entry, NO_BENCHMARK, Subject},
    findings::{At, Findings},
};
use crate::{
    Rule::{N25, N26},
    book::Benchmark,
    judge::samples::{is_allowed_input, may_be_encoded, wanted_input},
    placeholder::is_placeholder,
    result::RunResult,
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let Some(benchmark) = entry.benchmark else {
            found.none_known([N25, N26], &entry.place, NO_BENCHMARK);
            continue;
        };
        for (place, record) in entry.records() {
            encoding(subject, entry, benchmark, record, found.at(N25, place));
            input(benchmark, record, found.at(N26, place));
        }
    }
}

fn encoding(
    subject: &Subject,
    entry: &Entry,
    benchmark: &Benchmark,
    record: &RunResult,
    mut at: At,
) {
    let of_responses = record.nodes.iter().flat_map(|node| &node.response_encodings);
    let used: BTreeSet<_> = of_responses
        .map(|encoding| ("responses", *encoding))
        .chain([("samples", record.encoding)])
        .filter(|(_, encoding)| *encoding != Encoding::None)
        .collect();
    for (what, encoding) in used.iter().filter(|(_, one)| !may_be_encoded(benchmark, *one)) {
        at.fail(format!(
            "{what} were sent with {encoding}, which section 6.2.4 does not allow for {}",
            benchmark.name
        ));
    }
    if !at.is_kept() {
        return;
    }
    if used.is_empty() {
        return at.or_pass("neither samples nor responses are compressed");
    }
    if subject.tree.is_none() {
        return at.unknown(
            "what was sent was compressed: the approval of the scheme is in a submission",
        );
    }
    match approval(subject, entry) {
        Some(where_) => at.or_pass(format!(
            "the compression is one of the table, and its approval is in {where_}"
        )),
        None => at.fail(
            "what was sent was compressed: the scheme needs approval by the working group two weeks before the deadline; \
             say when it was given, in compression_approval of submission.toml, which writes documentation/compression.md",
        ),
    }
}

fn says_something(text: &str) -> bool {
    !is_placeholder(text) && !text.trim().eq_ignore_ascii_case("none")
}

/// Where the approval is written down.
fn approval(subject: &Subject, entry: &Entry) -> Option<String> {
    if let Some(Ok((place, json))) = &entry.measurements {
        let entry = json.iter().find(|(key, _)| key.contains("approval"));
        let text = entry.and_then(|(_, value)| value.as_str());
        if text.is_some_and(says_something) {
            return Some(place.clone());
        }
    }
    let tree = subject.tree.as_ref()?;
    let text = tree.document(documents::COMPRESSION)?;
    says_something(&text).then(|| tree.home.document(documents::COMPRESSION))
}

fn input(benchmark: &Benchmark, record: &RunResult, mut at: At) {
    let wanted = wanted_input(benchmark);
    match is_allowed_input(benchmark, &record.input) {
        None => at.unknown(format!("what a sample held is not known; it should be {wanted}")),
        Some(true) => at.or_pass(format!("samples are what the benchmark allows: {wanted}")),
        Some(false) => at.fail(format!(
            "a sample held {}, and should be {wanted}; all else is made of it at the nodes, timed",
            record.input.join(" + ")
        )),
    }
}
