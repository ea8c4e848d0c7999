//! Tests of the registry, and of docs/generated/rules.md, which lists it.

#[path = "../../../../tests/src/generated.rs"]
mod generated;

use std::path::Path;

use generated::assert_current;

use super::*;

#[test]
fn each_rule_stands_at_its_number() {
    assert!(Rule::all().eq(RULES.iter().map(|entry| entry.id)));
}

const COMMAND: &str =
    "NETDIV_WRITE_RULES=1 cargo test --release -p netdiv-rules --lib rules::tests";

/// Writes the document if `NETDIV_WRITE_RULES` is set.
#[test]
fn the_document_has_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/generated/rules.md");
    let rows: String = Rule::all().map(Rule::row).collect();
    let body = format!(
        "| | rule | § | kept in | `check` looks at | shown by |\n|---|---|---|---|---|---|\n{rows}"
    );
    assert_current(Path::new(path), "The rules N1 to N38", COMMAND, &body);
}

/// Every name in the table that ends in `.rs` is a file.
#[test]
fn the_files_that_the_table_names_are_there() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let rooms = ["loadgen-node", "proto", "qdl", "sut-node", "tests"];
    let files = rooms.into_iter().flat_map(|room| {
        let files = crate::tree::list_files(&Path::new(root).join(room)).unwrap();
        files.into_iter().map(move |path| format!("/{room}/{}", path.display()))
    });
    let files: Vec<_> = files.collect();
    for row in Rule::all().map(Rule::row) {
        let named = row.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
        for name in named {
            let end = format!("/{name}");
            assert!(files.iter().any(|file| file.ends_with(&end)), "{name} in: {row}");
        }
    }
}
