//! N25: compression only as the table allows (rules, section 6.2.4).

use std::collections::BTreeSet;

use netdiv_contract::encoding::Encoding;

use crate::{
    book::{Benchmark, Compression},
    facts::machines::published_settings,
    judge::check_network_rows,
    placeholder::is_placeholder,
    record::{Evidence, Node, RunResult},
    subject::{Findings, PlaceJudgement, ResultEntry, Subject},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    found.records(subject, |record| {
        let nodes =
            record.evidence.iter().flat_map(|all| record.nodes.iter().map(move |n| (n, all)));
        nodes.filter_map(|(node, evidence)| other_encoding(node, evidence))
    });
    for entry in &subject.results {
        let Some(benchmark) = found.benchmark(entry) else { continue };
        if let Some(text) = check_network_rows(benchmark) {
            found.fail(&entry.place, text);
            continue;
        }
        for (place, record) in entry.records() {
            encoding(subject, entry, benchmark, record, found.at(place));
        }
    }
}

/// Returns a finding if the responses of a node had another encoding than `response_encoding` in
/// its published settings.
fn other_encoding(node: &Node, evidence: &Evidence) -> Option<String> {
    let settings = published_settings(evidence.nodes.get(&node.name)?);
    let encoding = settings.get("response_encoding").and_then(toml::Value::as_str)?;
    let mut used = node.response_encodings.iter().map(ToString::to_string);
    let (used, name) = (used.find(|used| used != encoding)?, &node.name);
    Some(format!(
        "responses of node {name} were encoded as {used}, and its response_encoding is {encoding}"
    ))
}

fn encoding(
    subject: &Subject,
    entry: &ResultEntry,
    benchmark: &Benchmark,
    record: &RunResult,
    mut at: PlaceJudgement,
) {
    let of_responses = record.nodes.iter().flat_map(|node| &node.response_encodings);
    let used: BTreeSet<_> = of_responses
        .map(|encoding| ("responses", *encoding))
        .chain([("samples", record.encoding)])
        .filter(|(_, encoding)| *encoding != Encoding::None)
        .collect();
    // The approval is a separate matter.
    let is_allowed = !matches!(benchmark.compression, Compression::None | Compression::Unstated);
    for (what, encoding) in used.iter().filter(|_| !is_allowed) {
        at.fail(format!(
            "{what} are sent with {encoding}, which section 6.2.4 does not allow for {}: choose the encoding none, and run again",
            benchmark.name
        ));
    }
    if !at.is_kept() {
        return;
    }
    if benchmark.compression == Compression::Unstated {
        return at.unknown(format!(
            "section 6.2.4 has no row for {}: ask the working group how its samples may be sent",
            benchmark.name
        ));
    }
    if used.is_empty() {
        return at.or_pass("neither samples nor responses are compressed");
    }
    if subject.tree.is_none() {
        return at.unknown(
            "samples or responses were compressed: only a submission contains the approval of the scheme",
        );
    }
    match approval(subject, entry) {
        Some(where_) => at.or_pass(format!(
            "the compression is one of the table, and its approval is in {where_}"
        )),
        None => at.fail(
            "samples or responses were compressed: the scheme needs approval by the working group two weeks before the deadline; \
             state its date in compression_approval of submission.toml, which writes documentation/compression.md",
        ),
    }
}

fn says_something(text: &str) -> bool {
    !is_placeholder(text) && !text.trim().eq_ignore_ascii_case("none")
}

/// Returns the path of the file that states the approval of the compression: the measurements file
/// or compression.md.
fn approval(subject: &Subject, entry: &ResultEntry) -> Option<String> {
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
