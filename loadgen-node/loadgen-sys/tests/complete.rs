//! Tests a run from start to end, completed by another long-lived thread. Each case has its own
//! file, because LoadGen exists once per process.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

mod common;

use common::{Library, answer_in_background, settings};
use loadgen_sys::{LogSettings, start_test};

#[test]
fn every_sample_is_answered_and_logged_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (queue, answering) = answer_in_background();
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    start_test(&queue, &Library, &settings(), &log, None).expect("runs");
    // A second test in the same process is fine, as long as none was aborted.
    start_test(&queue, &Library, &settings(), &log, None).expect("runs again");
    drop(queue);
    assert_eq!(answering.join().expect("no panic"), 2 * 100);

    let text = std::fs::read_to_string(folder.path().join("mlperf_log_accuracy.json"));
    let text = text.expect("an accuracy log");
    for index in 0..100 {
        let entry = format!("\"qsl_idx\" : {index}, \"data\" : \"{index:02X}000000\"");
        assert_eq!(text.matches(&entry).count(), 1, "{entry} in {text}");
    }
    let detail = std::fs::read_to_string(folder.path().join("mlperf_log_detail.txt"));
    let detail = detail.expect("a detail log");
    assert!(detail.contains("\"value\": \"queue 2\""), "the name of the second call: {detail}");
    assert!(!detail.contains("\"is_error\": true"), "{detail}");
}
