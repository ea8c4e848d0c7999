//! Form of the documents in docs/generated/. Tests of several crates include this file by its path.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests read what they wrote, and this module is private in other crates"
)]

use std::{env, fs, path::Path};

/// Returns a document: its heading, the command that writes it, and its body.
pub fn document(heading: &str, command: &str, body: &str) -> String {
    format!("# {heading}\n\nWritten by `{command}`.\n\n{}\n", body.trim())
}

/// Asserts that the document at `path` is the one that `command` writes. The command begins with
/// `VARIABLE=1`; if this variable is set, writes the document first.
pub fn assert_current(path: &Path, heading: &str, command: &str, body: &str) {
    let wanted = document(heading, command, body);
    let (variable, _) = command.split_once("=1 ").expect("a command that sets a variable");
    if env::var_os(variable).is_some() {
        fs::write(path, &wanted).expect("our own file");
    }
    let written = fs::read_to_string(path).expect("a document");
    assert!(written == wanted, "{}: {command}", path.display());
}
