//! Edits of where documents lead.

use super::{
    Row,
    tree::{HOME, Tree},
};
use crate::Rule::*;

const MEASUREMENTS: &str = "network/acme/measurements/two-H100-nodes/resnet50/Offline";

/// Adds a line to the document on calibration.
fn calibration(tree: &Tree, line: &str) {
    let path = format!("{HOME}/documentation/calibration.md");
    tree.write(&path, &format!("{}\n{line}\n", tree.read(&path)));
}

pub(super) const ROWS: &[Row] = &[
    ("a link to a file that is not there", &[N35], |tree| calibration(tree, "[how](how.md)")),
    ("a picture that is not there", &[N35], |tree| {
        let path = format!("{MEASUREMENTS}/README.md");
        tree.write(&path, &format!("![rack](rack.png)\n{}", tree.read(&path)));
    }),
    ("a link by reference", &[N35], |tree| {
        calibration(tree, "[how]\n\n[how]: <../how.md> \"How\"")
    }),
    ("a link in HTML", &[N35], |tree| calibration(tree, "<a href=\"how.md\">how</a>")),
    ("a picture in HTML", &[N35], |tree| calibration(tree, "<img src=\"how.png\">")),
    ("a link out of the submission", &[N35], |tree| {
        calibration(tree, "[host](../../../../../../../../../../../etc/hostname)");
    }),
    ("a link to a place on this machine", &[N35], |tree| {
        calibration(tree, "[host](/etc/hostname)")
    }),
    ("a heading that is not there", &[N35], |tree| {
        calibration(tree, "[wire](wire-protocol.md#no)")
    }),
    ("a heading of its own that is not there", &[N35], |tree| calibration(tree, "[here](#here)")),
    ("a link beside one in code", &[N35], |tree| calibration(tree, "`[a](a.md)` [b](b.md)")),
    ("the wire's links as in the sources", &[N35], |tree| {
        let path = format!("{HOME}/documentation/wire-protocol.md");
        tree.replace(&path, "../code/netdiv/proto/", "../proto/");
    }),
];

#[test]
fn links_that_lead_somewhere_are_let_be() {
    let tree = Tree::new();
    calibration(
        &tree,
        "[wire](wire-protocol.md#gRPC) <https://example.org> [x](https://example.org/a.md#b) [m](mailto:a@b.c)\n\
         [json](evidence/fabric.json), [folder](../systems), `[no](no.md)`\n\n## Int8\n\n[up](#int8)\n\n```\n[no](no.md)\n```",
    );
    let tree_of = super::broken(&super::report(&tree));
    assert_eq!(tree_of.into_iter().collect::<Vec<_>>(), ["N35", "N38"]);
    let path = format!("{HOME}/documentation/calibration.md");
    tree.replace(&path, "#gRPC", "#grpc");
    let report = super::report(&tree);
    assert!(!report.failed(), "{}", report.text());
}
