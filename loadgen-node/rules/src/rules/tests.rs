//! Tests of the table of rules, and of the table in docs/RULES.md.

use std::path::Path;

use super::*;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn each_rule_stands_at_its_number() {
    assert!(Rule::all().eq(RULES.iter().map(|row| row.id)));
}

/// Returns the rows of the table in docs/RULES.md.
fn documented() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("docs/RULES.md")).unwrap();
    let (_, table) = text.split_once("<!-- rules: begin -->").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| N"));
    rows.map(str::to_owned).collect()
}

#[test]
fn the_document_has_the_rules() {
    let rows = documented();
    assert_eq!(rows.len(), RULES.len());
    for (row, RuleRow { id, section, title, .. }) in rows.iter().zip(&RULES) {
        let start = format!("| {id} | {title} | {section} | ");
        assert!(row.starts_with(&start), "{start} in: {row}");
    }
}

/// Every name in the table that ends in `.rs` is a file.
#[test]
fn the_files_that_the_table_names_are_there() {
    let rooms = ["loadgen-node", "proto", "qdl", "sut-node", "tests"];
    let files = rooms.into_iter().flat_map(|room| {
        let files = crate::tree::list_files(&Path::new(ROOT).join(room)).unwrap();
        files.into_iter().map(move |path| format!("/{room}/{}", path.display()))
    });
    let files: Vec<_> = files.collect();
    for row in documented() {
        let named = row.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
        for name in named {
            let end = format!("/{name}");
            assert!(files.iter().any(|file| file.ends_with(&end)), "{name} in: {row}");
        }
    }
}
