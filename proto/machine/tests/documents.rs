//! Documents about the doctor: docs/generated/doctor.md, and the schema of its report.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

#[path = "../../../tests/src/generated.rs"]
mod generated;

use std::{fs, path::Path};

use generated::assert_current;
use netdiv_machine::doctor::{Report, table};

const COMMAND: &str =
    "NETDIV_WRITE_DOCTOR=1 cargo test --release -p netdiv-machine --test documents";

/// Writes the document if `NETDIV_WRITE_DOCTOR` is set.
#[test]
fn the_table_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/doctor.md");
    assert_current(&path, "Findings of doctor", COMMAND, &table());
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
