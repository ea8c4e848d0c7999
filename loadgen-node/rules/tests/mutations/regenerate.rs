//! Regenerates the documents after an edit that did not change them, as `submission` would write
//! them for such runs. An edit of runs then causes no findings about documents.

use std::collections::BTreeSet;

use netdiv_rules::{
    Outcome,
    check::{Report, documents as regenerated},
    tree::documents,
};

use super::tree::EditableTree;

/// Names of the documents that are generated from runs.
pub(super) const NAMES: [&str; 3] =
    [documents::DIAGRAM, documents::ARCHITECTURE, documents::BANDWIDTH];

/// Texts of the submitter in the documents.
const TEXTS: [&str; 2] = ["PCIe 5.0 x16, 64 GB/s", "[evidence/fabric.json](evidence/fabric.json)"];

/// Regenerates the documents that have findings, unless the edit changed a document itself. Returns
/// true if it wrote any document.
pub(super) fn write_again(tree: &EditableTree, report: &Report) -> bool {
    let failed = report.findings().chain(report.waived()).filter(|f| f.outcome == Outcome::Fail);
    let is_wrong =
        |path: &str| failed.clone().any(|one| one.places.iter().any(|place| place == path));
    if !tree.has_documents_as_made() {
        return false;
    }
    // If several runs generate a document, the first one counts here.
    let mut written = BTreeSet::new();
    for (path, text) in regenerated(tree.root(), TEXTS).unwrap() {
        if is_wrong(&path) && !written.contains(&path) {
            tree.write(&path, &text);
            written.insert(path);
        }
    }
    !written.is_empty()
}
