//! Tests logs that LoadGen cannot open: it reports that and returns, and leaves a thread running.

#![allow(clippy::expect_used, reason = "helpers of a test")]

mod common;

use common::{Library, Queue, settings};
use loadgen_sys::{LogSettings, start_test};

#[test]
fn logs_that_cannot_be_opened_are_an_error_and_the_process_ends_well() {
    let log = LogSettings { outdir: "/nowhere".into(), ..Default::default() };
    let queue = Queue::closed();
    let error = start_test(&queue, &Library, &settings(), &log, None).expect_err("no folder");
    assert_eq!(error.to_string(), "LoadGen cannot open its logs");
    let again = start_test(&queue, &Library, &settings(), &log, None);
    assert!(again.is_err_and(|why| why.to_string().contains("was aborted")));
    // The thread that LoadGen has left running would end this process with SIGABRT.
}
