//! Compares the number of edits of each rule with docs/generated/mutations.md.

#[path = "../../../../tests/src/generated.rs"]
mod generated;

use std::{fs, path::Path};

use generated::assert_current;

use super::{
    FILES,
    coded_edits::{ONE_CAUSE, ROWS},
    edits,
};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/generated/mutations.md");
const COMMAND: &str =
    "NETDIV_WRITE_MUTATIONS=1 cargo test --release -p netdiv-rules --test mutations";

fn table() -> String {
    let by_hand = ROWS.len() + ONE_CAUSE.len();
    let rules = FILES.iter().map(|(name, text)| (name.to_string(), edits(text).len()));
    let counts: Vec<_> = rules.chain([("by_hand".into(), by_hand)]).collect();
    let all = counts.iter().map(|(_, count)| count).sum();
    let rows = counts.into_iter().chain([("all".into(), all)]);
    let rows: String = rows.map(|(name, count)| format!("| `{name}` | {count} |\n")).collect();
    format!("| file | edits |\n|---|---|\n{rows}")
}

/// Writes the document if `NETDIV_WRITE_MUTATIONS` is set.
#[test]
fn the_document_has_the_counts() {
    assert_current(Path::new(DOCUMENT), "Edits of a valid submission", COMMAND, &table());
}

#[test]
fn every_file_of_edits_is_listed() {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mutations")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "toml") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(FILES.iter().any(|(file, _)| *file == name), "{name}: add it to main.rs");
        }
    }
}
