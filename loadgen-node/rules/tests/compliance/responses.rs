//! Responses of TEST01.

use super::{
    inputs::{log, summary},
    *,
};

/// Row of a table of cases: name, type of the numbers, logs of the accuracy run and of the
/// compliance run, true if the official script passes, and our verdict.
type ResponsesRow = (&'static str, &'static str, String, String, bool, OurVerdict);

fn case((name, dtype, accuracy_log, log, official, ours): ResponsesRow) -> ComplianceCase {
    ComplianceCase {
        test: Test::Test01,
        name,
        benchmark: "retinanet",
        dtype,
        accuracy_log,
        reference: summary("Offline", "1000"),
        log,
        summary: summary("Offline", "1000"),
        official,
        ours,
    }
}

pub(super) fn cases() -> Vec<ComplianceCase> {
    let labels = log(&[(0, "01000000"), (1, "02000000"), (2, "01020304")]);
    let other_layout = labels.replace('\n', "").replace(", ", ",\n\n");
    let one = || log(&[(0, "01000000")]);
    let twice = || log(&[(0, "01000000"), (0, "02000000")]);
    let three_times = log(&[(0, "01000000"), (0, "02000000"), (0, "02000000")]);
    let [floats, other_floats] =
        ["0000803F0000803F", "0000803F00000040"].map(|data| log(&[(0, data)]));
    let object = "{\"qsl_idx\": 0, \"data\": \"01000000\"}";
    #[rustfmt::skip]
    let rows = [
        ("equal labels", "int32", labels.clone(), log(&[(2, "01020304"), (0, "01000000")]), true, Pass),
        ("one other label", "int32", labels.clone(), log(&[(0, "01000000"), (1, "03000000")]), false, Fail),
        ("equal in the first byte as bytes", "uint8", labels.clone(), log(&[(0, "01FF0000")]), true, Pass),
        ("equal in the first byte as numbers", "int32", labels.clone(), log(&[(0, "01FF0000")]), false, Fail),
        ("unlike after the first number", "float32", floats, other_floats, true, Pass),
        ("another length", "int32", log(&[(0, "0100000002000000")]), one(), true, Pass),
        ("hex in lower case", "int32", log(&[(0, "0A0B0C0D")]), log(&[(0, "0a0b0c0d")]), true, Pass),
        ("not a number is unlike itself", "float32", log(&[(0, "0000C07F")]), log(&[(0, "0000C07F")]), false, Fail),
        ("zeros are alike", "float32", log(&[(0, "00000000")]), log(&[(0, "00000080")]), true, Pass),
        ("numbers of 64 bits", "int64", log(&[(0, "0100000000000001")]), log(&[(0, "0100000000000000")]), false, Fail),
        ("both empty", "int32", log(&[(0, "")]), log(&[(0, "")]), true, Pass),
        ("one empty", "int32", log(&[(0, "")]), one(), false, Fail),
        ("not whole numbers", "int32", log(&[(0, "010000")]), log(&[(0, "010000")]), false, Refused),
        ("not hex", "int32", log(&[(0, "0100000G")]), log(&[(0, "0100000G")]), false, Refused),
        ("an unknown sample", "int32", labels.clone(), log(&[(0, "01000000"), (9, "07000000")]), true, Stricter),
        ("no sample is in the accuracy run", "int32", labels.clone(), log(&[(9, "01000000")]), false, Fail),
        ("an unknown sample twice", "int32", labels.clone(), log(&[(9, "01000000"), (9, "01000000")]), true, Stricter),
        ("the first of two entries counts", "int32", twice(), one(), true, Pass),
        ("the second of two entries does not count", "int32", twice(), log(&[(0, "02000000")]), false, Fail),
        ("a response changes during the run", "int32", labels.clone(), three_times, false, Fail),
        ("nothing was logged", "int32", labels.clone(), log(&[]), false, Fail),
        ("laid out in another way", "int32", other_layout, one().replace('\n', " "), true, Pass),
        ("accuracy log is truncated", "int32", truncated(&labels), one(), false, Refused),
        ("a comma is missing", "int32", labels.replace("},\n", "}\n"), one(), false, Refused),
        ("a comma too many", "int32", labels.clone(), format!("[{object},]"), false, Refused),
        ("entries are lists", "int32", labels.clone(), "[[0, \"01000000\"]]".into(), false, Refused),
        ("an object and no list", "int32", labels.clone(), object.into(), false, Refused),
        ("no data", "int32", labels.clone(), "[{\"qsl_idx\": 0}]".into(), false, Refused),
        ("two logs in one file", "int32", labels.clone(), one().repeat(2), false, Refused),
        ("log is missing", "int32", labels.clone(), String::new(), false, Refused),
        ("accuracy log is missing", "int32", String::new(), labels, false, Refused),
    ];
    rows.into_iter().map(case).collect()
}

/// Truncates a log as the official tool does.
fn truncated(log: &str) -> String {
    format!("{}\n\n...\n\n{}", &log[..60], &log[log.len() - 60..])
}
