//! Tests a number of tokens that is not that of the response's bytes. Each case has its own file,
//! because LoadGen exists once per process.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

mod common;

use common::{Library, answer_in_background_with, settings};
use loadgen_sys::{LogSettings, Sample, start_test};

#[test]
fn loadgen_logs_the_number_of_tokens_that_was_set() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let set = |sample: &mut Sample| sample.response_id.set_token_count(2 + sample.index as u32);
    let (queue, answering) = answer_in_background_with(set);
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let mut settings = settings();
    settings.set("use_token_latencies", "true").expect("a setting of LoadGen");
    start_test(&queue, &Library, &settings, &log, None).expect("runs");
    drop(queue);
    assert_eq!(answering.join().expect("no panic"), 100);

    let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("a log");
    let accuracy = read("mlperf_log_accuracy.json");
    for index in 0..100 {
        let entry = format!("\"data\" : \"{index:02X}000000\", \"token_count\" : {}", 2 + index);
        assert_eq!(accuracy.matches(&entry).count(), 1, "{entry} in {accuracy}");
    }
    assert!(!read("mlperf_log_detail.txt").contains("\"is_error\": true"));
}
