//! Documents about the doctor: the table of docs/DOCTOR.md, and the schema of its report.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

use std::{fs, path::Path};

use netdiv_machine::doctor::{Id, Report, table};

#[test]
fn the_table_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/DOCTOR.md");
    let page = fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once("<!-- findings: begin -->\n").expect("a beginning");
    let (written, behind) = rest.split_once("<!-- findings: end -->").expect("an end");
    let wanted = table();
    if std::env::var_os("NETDIV_WRITE_DOCTOR").is_some() {
        let page =
            format!("{before}<!-- findings: begin -->\n{wanted}<!-- findings: end -->{behind}");
        fs::write(&path, page).expect("our own file");
    }
    assert!(written == wanted, "run this test with NETDIV_WRITE_DOCTOR=1 to renew docs/DOCTOR.md");
}

#[test]
fn the_checked_in_schema_is_that_of_the_report() {
    let schema = schemars::schema_for!(Report);
    let schema = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("report.schema.json");
    if std::env::var_os("NETDIV_WRITE_SCHEMA").is_some() {
        fs::write(&path, &schema).expect("our own file");
    }
    let checked_in = fs::read_to_string(path).expect("a schema");
    assert_eq!(checked_in, schema, "run this test with NETDIV_WRITE_SCHEMA=1 to renew it");
}

#[test]
fn every_finding_has_a_word_of_its_own() {
    let mut words: Vec<_> = Id::all().map(Id::word).collect();
    let count = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), count);
    for id in Id::all() {
        assert!(id.word().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", id.word());
        assert_eq!(serde_json::to_value(id).expect("a word"), id.word());
    }
}
