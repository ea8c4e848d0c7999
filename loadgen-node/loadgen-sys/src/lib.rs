//! MLCommons LoadGen behind a safe interface; the only FFI to it.
//!
//! Implement [`SystemUnderTest`] and [`QuerySampleLibrary`], fill [`TestSettings`], and call
//! [`start_test`]. Complete samples from any long-lived thread with [`complete`].
//!
//! Reasons why it is safe:
//! - A [`ResponseId`] is a pointer into LoadGen. It can be neither created, copied nor used twice,
//!   and it holds the number of its test: once that test is over, completing it does nothing.
//!   [`first_token`] borrows it, so that a first token cannot follow the response.
//! - LoadGen does not survive some calls about tokens: a response whose first token was not
//!   reported, a second first token, a response without a token. They do not reach it: the test
//!   ends with an error.
//! - A callback that fails or panics ends the test: LoadGen logs the reason as an error, closes its
//!   files, and [`start_test`] returns it as a [`StartTestError`]. No sample is completed without
//!   a response.
//! - Neither panics nor C++ exceptions cross the border.

mod ffi;
mod responses;
mod settings;
mod test;

use std::{collections::BTreeMap, ffi::c_void};

pub use netdiv_node_common::words::{AnswerTokens, Mode, Scenario};
pub use responses::{ResponseId, complete, first_token};
pub use settings::{LogSettings, SettingsError, TestSettings};
pub use test::{
    Abort, QuerySampleLibrary, Sample, Samples, StartTestError, SystemUnderTest, end_from_outside,
    exit_now, start_test,
};

/// Returns the version and the git revision that the compiled LoadGen reports, such as
/// `6.0.17 @ d6147c7eb7`.
pub fn version() -> String {
    text(ffi::nd_version)
}

/// Returns git's status of LoadGen's files when it was compiled: empty or `NA` without changes.
pub fn git_status() -> String {
    text(ffi::nd_git_status)
}

/// Returns the files that LoadGen was compiled from, each with its SHA-1 in hex, as it logs them
/// (`loadgen_file_sha1`).
pub fn file_sha1() -> BTreeMap<String, String> {
    let lines = text(ffi::nd_file_sha1);
    let files = lines.lines().filter_map(|line| line.split_once(' '));
    files.map(|(sha1, path)| (path.to_owned(), sha1.to_owned())).collect()
}

/// Returns the text that `of` passes to its sink.
fn text(of: unsafe extern "C" fn(ffi::Sink, *mut c_void)) -> String {
    ffi::collect(|sink, to| {
        // SAFETY: `sink` and `to` belong together (see `collect`); the call keeps neither.
        unsafe { of(sink, to) }
    })
    .concat()
}

/// Returns LoadGen's minimum number of queries within the latency bound for a valid run with
/// `overlatency` queries beyond it (rules, Appendix A.3): h for a given t. Percentile, tolerance
/// and confidence are shares, such as 0.99.
pub fn min_passing_queries(
    overlatency: u64,
    percentile: f64,
    tolerance: f64,
    confidence: f64,
) -> u64 {
    // SAFETY: only plain numbers cross; LoadGen's finder lives only during the call.
    unsafe { ffi::nd_min_passing_queries(overlatency, percentile, tolerance, confidence) }
}

/// Returns the origin of the compiled sources: a pinned release and the commit it equals, or the
/// user's checkout.
pub const fn origin() -> &'static str {
    env!("NETDIV_LOADGEN_ORIGIN")
}

/// Returns the versions of LoadGen's package that can be built, the oldest first.
pub fn releases() -> impl Iterator<Item = &'static str> {
    env!("NETDIV_LOADGEN_RELEASES").split(' ')
}
