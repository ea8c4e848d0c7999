//! Tests a response without its first token, which LoadGen does not survive in accuracy mode. Each
//! case has its own file, because LoadGen exists once per process.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

mod common;

use common::{Library, answer_in_background};
use loadgen_sys::{LogSettings, Mode, Scenario, TestSettings, start_test};

#[test]
fn an_answer_without_its_first_token_ends_the_test_and_does_not_reach_loadgen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (queue, _answering) = answer_in_background();
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let mut settings = TestSettings::new(Scenario::Server, Mode::Accuracy);
    settings.set("use_token_latencies", "true").expect("a setting of LoadGen");
    let error = start_test(&queue, &Library, &settings, &log, None).expect_err("it has to end");
    assert!(error.to_string().contains("before its first token"), "{error}");
    let detail = folder.path().join("mlperf_log_detail.txt");
    let detail = std::fs::read_to_string(detail).expect("a log");
    assert!(detail.contains("before its first token"), "{detail}");
}
