//! Edits of names and kinds of files, and of texts that somebody has still to write.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, process::Command};

use serde_json::json;

use super::{
    Row,
    tree::{HOME, Tree},
};
use crate::Rule::*;

const ACCURACY: &str = "network/acme/results/two-H100-nodes/resnet50/Offline/accuracy";
const MEASUREMENTS: &str = "network/acme/measurements/two-H100-nodes/resnet50/Offline";
const DOCUMENTS: &str = "network/acme/documentation";

fn measurements(tree: &Tree, from: &str, to: &str) {
    tree.replace(&format!("{MEASUREMENTS}/two-H100-nodes_netdiv_Offline.json"), from, to);
}

pub(super) const ROWS: &[Row] = &[
    ("a link as a submitter", &[N35], |tree| {
        std::os::unix::fs::symlink("acme", tree.path("network/other")).unwrap();
    }),
    ("a link as a system", &[N35], |tree| {
        let link = tree.path(&format!("{HOME}/results/other"));
        std::os::unix::fs::symlink("two-H100-nodes", link).unwrap();
    }),
    ("a name that is no UTF-8", &[N35], |tree| {
        let name = OsStr::from_bytes(b"x\xff.md");
        std::fs::write(tree.path(&format!("{HOME}/code")).join(name), "x").unwrap();
    }),
    ("a system whose name is no UTF-8", &[N35], |tree| {
        let name = OsStr::from_bytes(b"x\xff");
        let system = tree.path(&format!("{HOME}/results")).join(name);
        std::fs::create_dir_all(system.join("resnet50/Offline/accuracy")).unwrap();
    }),
    ("a folder that nobody reads", &[N35], |tree| {
        tree.write(&format!("{}/notes/x.md", ACCURACY.trim_end_matches("/accuracy")), "x");
    }),
    ("a pipe instead of a file", &[N35], |tree| {
        let path = format!("{MEASUREMENTS}/user.conf");
        tree.remove(&path);
        assert!(Command::new("mkfifo").arg(tree.path(&path)).status().unwrap().success());
    }),
    ("a pipe instead of a log", &[N2, N35], |tree| {
        let path = format!("{ACCURACY}/accuracy.txt");
        tree.remove(&path);
        assert!(Command::new("mkfifo").arg(tree.path(&path)).status().unwrap().success());
    }),
    ("no record of the accuracy run", &[N35], |tree| {
        tree.remove(&format!("{MEASUREMENTS}/accuracy.result.json"));
    }),
    ("accuracy that the run did not count", &[N2], |tree| {
        tree.replace(&format!("{ACCURACY}/accuracy.txt"), "accuracy=77", "accuracy=78");
    }),
    ("a retrained model", &[N2], |tree| {
        measurements(tree, "\"retraining\": \"No\"", "\"retraining\": \"Yes\"");
    }),
    ("an encoding that was not used", &[N35], |tree| {
        measurements(tree, "\"encoding\": \"none\"", "\"encoding\": \"zstd\"");
    }),
    ("nodes that were not there", &[N35], |tree| measurements(tree, "node-b", "node-c")),
    ("weights to be written", &[N35], |tree| measurements(tree, "\"fp16\"", "\"TBD\"")),
    ("calibration to be written", &[N2], |tree| {
        tree.write(&format!("{DOCUMENTS}/calibration.md"), "# Calibration\n\nTODO: how?\n");
    }),
    ("a README to be written", &[N35], |tree| {
        tree.write(&format!("{MEASUREMENTS}/README.md"), "n/a\n");
    }),
    ("a field to be written", &[N36], |tree| tree.field("cooling", json!("TODO: air?"))),
];
