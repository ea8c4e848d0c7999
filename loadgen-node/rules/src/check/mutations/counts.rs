//! docs/RULES.md says how many edits of each kind there are. `NETDIV_WRITE_MUTATIONS=1` writes that table.

use std::{env, fs};

use super::KINDS;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RULES.md");
const BEGIN: &str = "<!-- mutations: begin -->\n";
const END: &str = "<!-- mutations: end -->";

fn table() -> String {
    let row =
        |name: &str, changes: &str, count: usize| format!("| {name} | {changes} | {count} |\n");
    let rows =
        KINDS.iter().map(|kind| row(&format!("`{}`", kind.name), kind.changes, kind.rows.len()));
    let all = KINDS.iter().map(|kind| kind.rows.len()).sum();
    let rows = rows.chain([row("all", "", all)]);
    format!("| kind | what is edited | edits |\n|---|---|---|\n{}", rows.collect::<String>())
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
fn every_file_with_rows_is_a_kind() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/check/mutations");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let has_rows = fs::read_to_string(&path).unwrap().contains("ROWS: &[Row] = &[\n");
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_kind = KINDS.iter().any(|kind| kind.name == name);
        assert_eq!(has_rows, is_kind, "{name}: add a line to the kinds");
    }
}
