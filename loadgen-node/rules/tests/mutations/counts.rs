//! docs/RULES.md says how many edits there are of each rule. `NETDIV_WRITE_MUTATIONS=1` writes that table.

use std::{env, fs};

use super::{
    FILES,
    by_hand::{ONE_CAUSE, ROWS},
    edits,
};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RULES.md");
const BEGIN: &str = "<!-- mutations: begin -->\n";
const END: &str = "<!-- mutations: end -->";

fn table() -> String {
    let by_hand = ROWS.len() + ONE_CAUSE.len();
    let rules = FILES.iter().map(|(name, text)| (name.to_string(), edits(text).len()));
    let counts: Vec<_> = rules.chain([("by_hand".into(), by_hand)]).collect();
    let all = counts.iter().map(|(_, count)| count).sum();
    let rows = counts.into_iter().chain([("all".into(), all)]);
    let rows: String = rows.map(|(name, count)| format!("| `{name}` | {count} |\n")).collect();
    format!("| file | edits |\n|---|---|\n{rows}")
}

#[test]
fn the_document_has_the_counts() {
    let text = fs::read_to_string(DOCUMENT).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let table = table();
    if env::var_os("NETDIV_WRITE_MUTATIONS").is_some() {
        fs::write(DOCUMENT, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(written, table, "NETDIV_WRITE_MUTATIONS=1 writes docs/RULES.md");
    }
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
