//! Tests a panic in a callback: it does not cross the border.

#![allow(clippy::panic, reason = "the test is about one")]

mod common;

use common::{Library, settings};
use loadgen_sys::{Abort, LogSettings, Samples, SystemUnderTest, start_test};

struct Panicking;

impl SystemUnderTest for Panicking {
    fn name(&self) -> Result<String, Abort> {
        Ok("panicking".into())
    }

    fn issue_query(&self, _: Samples<'_>) -> Result<(), Abort> {
        panic!("on purpose")
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}

#[test]
fn a_panic_becomes_the_reason() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let error = start_test(&Panicking, &Library, &settings(), &log, None);
    assert_eq!(error.expect_err("it panicked").to_string(), "internal error: on purpose");
}
