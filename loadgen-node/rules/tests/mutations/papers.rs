//! After an edit that left the documents alone, they are written again, as `submission` would have written them of such
//! runs: a row about runs is not one about documents.

use std::collections::BTreeSet;

use netdiv_rules::{
    Outcome,
    check::{Report, documents as regenerated},
    tree::documents,
};

use super::tree::Tree;

/// The documents that are made of runs.
pub(super) const NAMES: [&str; 4] =
    [documents::DIAGRAM, documents::DIAGRAM_TEXT, documents::ARCHITECTURE, documents::BANDWIDTH];

/// What they have from the submitter.
const TEXTS: [&str; 2] = ["PCIe 5.0 x16, 64 GB/s", "[evidence/fabric.json](evidence/fabric.json)"];

/// Writes those that are found wrong, unless one of them was edited; whether there were any.
pub(super) fn write_again(tree: &Tree, report: &Report) -> bool {
    let failed = report.findings().chain(report.waived()).filter(|f| f.outcome == Outcome::Fail);
    let is_wrong =
        |path: &str| failed.clone().any(|one| one.places.iter().any(|place| place == path));
    if !tree.has_documents_as_made() {
        return false;
    }
    // Several runs make a document: the first does here.
    let mut written = BTreeSet::new();
    for (path, text) in regenerated(tree.root(), TEXTS).unwrap() {
        if is_wrong(&path) && !written.contains(&path) {
            tree.write(&path, &text);
            written.insert(path);
        }
    }
    !written.is_empty()
}
