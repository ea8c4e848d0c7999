//! N25 and N26: how samples are compressed, and what an LLM is sent (rules, section 6.2.4).

use netdiv_contract::encoding::Encoding;
use std::collections::BTreeSet;

use super::{
    checked_folder::{Entry, Subject},
    findings::Findings,
    machines::NO_RECORD,
};
use crate::{
    Rule,
    book::Benchmark,
    judge::samples::{is_allowed_input, may_be_encoded, wanted_input},
    placeholder::is_placeholder,
    result::RunResult,
    tree::documents,
};

const N25: Rule = Rule::new(25);
const N26: Rule = Rule::new(26);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let Some(benchmark) = entry.benchmark else {
            for rule in [N25, N26] {
                found.unknown(rule, &entry.place, "the table has no row for the benchmark (N1)");
            }
            continue;
        };
        for run in &entry.runs {
            let place = &run.record_place;
            match run.result() {
                Some(record) => {
                    encoding(subject, entry, benchmark, place, record, found);
                    input(benchmark, place, record, found);
                }
                None => {
                    for rule in [N25, N26] {
                        found.unknown(rule, place, NO_RECORD);
                    }
                }
            }
        }
    }
}

fn encoding(
    subject: &Subject,
    entry: &Entry,
    benchmark: &Benchmark,
    place: &str,
    record: &RunResult,
    found: &mut Findings,
) {
    let of_responses = record.nodes.iter().flat_map(|node| &node.response_encodings);
    let used: BTreeSet<_> = of_responses
        .map(|encoding| ("responses", *encoding))
        .chain([("samples", record.encoding)])
        .filter(|(_, encoding)| *encoding != Encoding::None)
        .collect();
    let before = found.problems(N25);
    for (what, encoding) in &used {
        if !may_be_encoded(benchmark, *encoding) {
            let text = format!(
                "{what} were sent with {encoding}, which section 6.2.4 does not allow for {}",
                benchmark.name
            );
            found.fail(N25, place, text);
        }
    }
    if found.problems(N25) > before {
        return;
    }
    if used.is_empty() {
        return found.pass(N25, place, "neither samples nor responses are compressed");
    }
    if subject.tree.is_none() {
        let text = "what was sent was compressed: the approval of the scheme is in a submission";
        return found.unknown(N25, place, text);
    }
    match approval(subject, entry) {
        Some(where_) => {
            let text =
                format!("the compression is one of the table, and its approval is in {where_}");
            found.pass(N25, place, text);
        }
        None => {
            let text = "what was sent was compressed: the scheme needs approval by the working \
                        group two weeks before the deadline; say when it was given, in compression_approval \
                        of submission.toml, which writes documentation/compression.md";
            found.fail(N25, place, text);
        }
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
    let document = tree.home.document(documents::COMPRESSION);
    tree.text(&document).filter(|text| says_something(text)).map(|_| document)
}

fn input(benchmark: &Benchmark, place: &str, record: &RunResult, found: &mut Findings) {
    let wanted = wanted_input(benchmark);
    match is_allowed_input(benchmark, &record.input) {
        None => {
            let text = format!("what a sample held is not known; it should be {wanted}");
            found.unknown(N26, place, text);
        }
        Some(true) => {
            let text = format!("samples are what the benchmark allows: {wanted}");
            found.pass(N26, place, text);
        }
        Some(false) => {
            let text = format!(
                "a sample held {}, and should be {wanted}; all else is made of it at the nodes, timed",
                record.input.join(" + ")
            );
            found.fail(N26, place, text);
        }
    }
}
