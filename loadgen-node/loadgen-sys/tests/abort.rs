//! Tests a callback that fails: the test ends with samples in flight, and their late responses do
//! nothing.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of a test")]

mod common;

use std::sync::Mutex;

use common::{Library, Queue, settings};
use loadgen_sys::{
    Abort, LogSettings, Mode, Sample, Samples, Scenario, SystemUnderTest, TestSettings, complete,
    start_test,
};

/// Keeps the samples of the first queries, then fails.
#[derive(Default)]
struct Failing {
    kept: Mutex<Vec<Sample>>,
}

impl SystemUnderTest for Failing {
    fn name(&self) -> Result<String, Abort> {
        Ok("failing".into())
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        let mut kept = self.kept.lock().expect("no holder panics");
        kept.extend(samples);
        if kept.len() < 10 { Ok(()) } else { Err(Abort("the \"cable\" was cut".into())) }
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}

#[test]
fn a_failing_callback_ends_a_test_of_ten_minutes_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let mut ten_minutes = TestSettings::new(Scenario::Server, Mode::Performance);
    ten_minutes.set("server_target_qps", "1000").expect("a field");
    ten_minutes.set("min_duration_ms", "600000").expect("a field");

    let failing = Failing::default();
    let error = start_test(&failing, &Library, &ten_minutes, &log, None);
    let error = error.expect_err("it was aborted");
    assert_eq!(error.to_string(), "the 'cable' was cut", "LoadGen does not escape quotes");

    // LoadGen has forgotten these samples; completing them must not touch its memory.
    let kept = failing.kept.into_inner().expect("no holder panics");
    assert_eq!(kept.len(), 10);
    complete(kept.into_iter().map(|sample| (sample.response_id, &b"late"[..])));

    let detail = std::fs::read_to_string(folder.path().join("mlperf_log_detail.txt"));
    let detail = detail.expect("a detail log");
    let line = detail.lines().find(|line| line.contains("was cut")).expect("the reason");
    assert!(line.contains("\"is_error\": true"), "{line}");
    assert!(!detail.contains("result_validity"), "{detail}");

    let again = start_test(&Queue::closed(), &Library, &settings(), &log, None);
    assert!(again.is_err_and(|why| why.to_string().contains("was aborted")));
}
