//! After an edit that left the documents alone, they are written again, as `submission` would have written them of such
//! runs: a row about runs is not one about documents.

use super::{
    super::{Report, made_again, read_all},
    tree::Tree,
};
use crate::{Outcome, book::Table, tree::documents};

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
    let mut wrote = false;
    if !tree.has_documents_as_made() {
        return wrote;
    }
    for subject in read_all(tree.root(), Table::builtin().unwrap(), None).unwrap().subjects {
        let Some(folder) = &subject.tree else { continue };
        let papers = made_again::papers(&subject, folder, TEXTS).into_iter().take(1).flatten();
        let bandwidth = made_again::report_on_bandwidth(&subject);
        for (name, text) in papers.chain(bandwidth.map(|text| (documents::BANDWIDTH, text))) {
            let path = folder.home.document(name);
            if is_wrong(&path) {
                tree.write(&path, &text);
                wrote = true;
            }
        }
    }
    wrote
}
