//! Tests a first token before each response. Each case has its own file, because LoadGen exists
//! once per process.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

mod common;

use common::{Library, answer_in_background_with};
use loadgen_sys::{LogSettings, Mode, Sample, Scenario, TestSettings, first_token, start_test};

#[test]
fn loadgen_is_told_of_each_first_token_before_the_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tell = |sample: &mut Sample| {
        let token = [sample.index as u8, 0xAB];
        first_token(&mut sample.response_id, &token);
    };
    let (queue, answering) = answer_in_background_with(tell);
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let mut settings = TestSettings::new(Scenario::SingleStream, Mode::Accuracy);
    settings.set("use_token_latencies", "true").expect("a setting of LoadGen");
    start_test(&queue, &Library, &settings, &log, None).expect("runs");
    drop(queue);
    assert_eq!(answering.join().expect("no panic"), 100);

    let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("a log");
    let accuracy = read("mlperf_log_accuracy.json");
    for index in 0..100 {
        let entry = format!(
            "\"data\" : \"{index:02X}000000\", \"token_data\" : \"{index:02X}AB\", \"token_count\" : 1"
        );
        assert_eq!(accuracy.matches(&entry).count(), 1, "{entry} in {accuracy}");
    }
    let detail = read("mlperf_log_detail.txt");
    assert!(!detail.contains("first token latency"), "each in its place: {detail}");
}
