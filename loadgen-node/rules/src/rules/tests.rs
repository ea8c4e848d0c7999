//! The registry, and the table in docs/RULES.md that is made of it.

use std::{env, fs, path::Path};

use super::*;

#[test]
fn each_rule_stands_at_its_number() {
    assert!(Rule::all().eq(RULES.iter().map(|entry| entry.id)));
}

/// With `NETDIV_WRITE_RULES=1` it writes the table.
#[test]
fn the_document_has_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RULES.md");
    let document = fs::read_to_string(path).unwrap();
    let (before, rest) = document.split_once("<!-- rules: begin -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- rules: end -->").unwrap();
    let mut table = String::from(
        "| | rule | § | kept in | `check` looks at | shown by |\n|---|---|---|---|---|---|\n",
    );
    table.extend(Rule::all().map(Rule::row));
    let made = format!("{before}<!-- rules: begin -->\n{table}<!-- rules: end -->{after}");
    if env::var_os("NETDIV_WRITE_RULES").is_some() {
        fs::write(path, made).unwrap();
    } else {
        assert!(document == made, "docs/RULES.md: write its table with NETDIV_WRITE_RULES=1");
    }
}

/// Names in the table that end in `.rs` are those of files.
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
