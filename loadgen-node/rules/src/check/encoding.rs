//! N25 and N26: how samples are compressed, and what an LLM is sent (rules, section 6.2.4).

use std::collections::BTreeSet;

use super::{
    findings::Findings,
    machines::NO_RECORD,
    subject::{Entry, Subject},
};
use crate::{
    Rule,
    benchmarks::{Benchmark, Compression},
    placeholder::is_placeholder,
    result::RunResult,
    tree::documents,
};

const N25: Rule = Rule::new(25);
const N26: Rule = Rule::new(26);

/// Element types of tensors, as nodes name them.
const DATA_TYPES: [&str; 6] = ["uint8", "int8", "int32", "int64", "float16", "float32"];

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
        .map(|encoding| ("responses", encoding.as_str()))
        .chain([("samples", record.encoding.as_str())])
        .filter(|(_, encoding)| *encoding != "none")
        .collect();
    let lossless = benchmark.compression != Compression::None;
    let before = found.problems(N25);
    for (what, encoding) in &used {
        if !(lossless && matches!(*encoding, "zstd" | "lz4")) {
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
                        group two weeks before the deadline; say in the measurements file or in \
                        documentation/compression.md when it was given";
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
    let lists: Vec<_> = benchmark.inputs.iter().map(|tensors| tensors.join(" + ")).collect();
    let wanted = format!("{}, as {}", lists.join(", or "), benchmark.input_types.join(" or "));
    let has_type = |tensor: &String, is_one: &dyn Fn(&str) -> bool| {
        tensor.split(|c: char| !c.is_alphanumeric()).any(is_one)
    };
    let is_allowed = |word: &str| benchmark.input_types.iter().any(|data_type| data_type == word);
    let tensors = &record.input;
    if !tensors.iter().any(|tensor| has_type(tensor, &|word| DATA_TYPES.contains(&word))) {
        let text = format!("what a sample held is not known; it should be {wanted}");
        return found.unknown(N26, place, text);
    }
    let fits = benchmark.inputs.iter().any(|list| list.len() == tensors.len());
    if fits && tensors.iter().all(|tensor| has_type(tensor, &is_allowed)) {
        let text = format!("samples are what the benchmark allows: {wanted}");
        return found.pass(N26, place, text);
    }
    let text = format!(
        "a sample held {}, and should be {wanted}; all else is made of it at the nodes, timed",
        tensors.join(" + ")
    );
    found.fail(N26, place, text);
}
