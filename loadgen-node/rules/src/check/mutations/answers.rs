//! Edits of the answers in accuracy logs, and of the verdicts of what verified them.

use super::{Row, Tree};
use crate::{
    Rule::*,
    tree::{ACCURACY_LOG, VERIFY_ACCURACY, VERIFY_PERFORMANCE},
};

const RUN: &str = "network/acme/results/two-H100-nodes/resnet50/Offline/accuracy";
const TEST01: &str = "network/acme/compliance/two-H100-nodes/resnet50/Offline/TEST01";
const TEST04: &str = "network/acme/compliance/two-H100-nodes/resnet50/Offline/TEST04";

/// Edits the first entry of an accuracy log: the text between `from` and the next comma or brace.
fn first(tree: &Tree, folder: &str, from: &str, to: &str) {
    let path = format!("{folder}/{ACCURACY_LOG}");
    let text = tree.read(&path);
    let (before, rest) = text.split_once(from).unwrap();
    let end = rest.find([',', '}']).unwrap();
    tree.write(&path, &format!("{before}{from}{to}{}", &rest[end..]));
}

fn add(tree: &Tree, file: &str, line: &str) {
    tree.write(file, &(tree.read(file) + line));
}

pub(super) const ROWS: &[Row] = &[
    ("a sample answered otherwise in TEST01", &[N34], |tree| {
        first(tree, &format!("{TEST01}/accuracy"), "\"data\" : ", "\"FF00FF00\"");
    }),
    ("an answer of another length", &[N18], |tree| {
        first(tree, RUN, "\"data\" : ", "\"0300000003000000\"");
    }),
    ("a sample that the data set lacks", &[N21], |tree| {
        first(tree, RUN, "\"qsl_idx\" : ", "50000");
    }),
    ("a sample that was not issued", &[N21], |tree| first(tree, RUN, "\"seq_id\" : ", "50000")),
    ("one sample twice", &[N21], |tree| first(tree, RUN, "\"qsl_idx\" : ", "10")),
    ("two verdicts on the answers of TEST01", &[N30, N34], |tree| {
        add(tree, &format!("{TEST01}/{VERIFY_ACCURACY}"), "TEST FAIL\n");
    }),
    ("two verdicts on the speed of TEST01", &[N34], |tree| {
        add(tree, &format!("{TEST01}/{VERIFY_PERFORMANCE}"), "TEST FAIL\n");
    }),
    ("two verdicts on TEST04", &[N34], |tree| {
        add(tree, &format!("{TEST04}/{VERIFY_PERFORMANCE}"), "TEST FAIL: too fast\n");
    }),
];
