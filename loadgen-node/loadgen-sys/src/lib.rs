//! MLCommons LoadGen behind a safe interface; the only FFI to it.
//!
//! Implement [`SystemUnderTest`] and [`QuerySampleLibrary`], fill [`TestSettings`], call [`start_test`].
//! Answer samples from any long-lived thread with [`complete`].
//!
//! What makes it safe:
//! - A [`ResponseId`] is a pointer into LoadGen. It can be neither made, copied nor used twice, and it
//!   carries the number of the test it belongs to: once that test is over, completing it does nothing. It is borrowed
//!   for a first token ([`first_token`]), which therefore cannot come after the answer.
//! - What LoadGen does not survive of tokens (an answer whose first token it was not told of, a second one, no token at
//!   all) does not reach it: the test ends with an error.
//! - A callback that fails or panics ends the test: LoadGen logs the reason as an error, closes its files,
//!   and [`start_test`] returns [`StartTestError::Aborted`]. No sample is completed without an answer.
//! - Neither panics nor C++ exceptions cross the border.

mod answers;
mod ffi;
mod settings;
mod test;

use std::{collections::BTreeMap, ffi::c_void};

pub use answers::{ResponseId, complete, first_token};
pub use netdiv_node_common::words::{AnswerTokens, Mode, Scenario};
pub use settings::{LogSettings, SettingsError, TestSettings};
pub use test::{
    Abort, QuerySampleLibrary, Sample, Samples, StartTestError, SystemUnderTest, end_from_outside,
    exit_now, start_test,
};

/// Returns the version and the git revision that the compiled LoadGen reports, such as `6.0.17 @ d6147c7eb7`.
pub fn version() -> String {
    text(ffi::nd_version)
}

/// Returns git's status of LoadGen's files when it was compiled: empty or `NA` without changes.
pub fn git_status() -> String {
    text(ffi::nd_git_status)
}

/// Returns the files that LoadGen was compiled from, each with its SHA-1 in hex, as it logs them (`loadgen_file_sha1`).
pub fn file_sha1() -> BTreeMap<String, String> {
    let lines = text(ffi::nd_file_sha1);
    let files = lines.lines().filter_map(|line| line.split_once(' '));
    files.map(|(sha1, path)| (path.to_owned(), sha1.to_owned())).collect()
}

/// Returns the text that a function of LoadGen's version hands over.
fn text(of: unsafe extern "C" fn(ffi::Sink, *mut c_void)) -> String {
    ffi::collect(|sink, to| {
        // SAFETY: `sink` and `to` belong together (see `collect`); the call keeps neither.
        unsafe { of(sink, to) }
    })
    .concat()
}

/// LoadGen's own answer to how many queries within the bound make a run with so many beyond it valid (rules, Appendix
/// A.3): h for a given t. Percentile, tolerance and confidence are shares, such as 0.99.
pub fn min_passing_queries(
    overlatency: u64,
    percentile: f64,
    tolerance: f64,
    confidence: f64,
) -> u64 {
    // SAFETY: plain numbers go in and out; LoadGen's finder lives within the call.
    unsafe { ffi::nd_min_passing_queries(overlatency, percentile, tolerance, confidence) }
}

/// Returns the origin of the compiled sources: a pinned release and the commit it equals, or the user's checkout.
pub const fn origin() -> &'static str {
    env!("NETDIV_LOADGEN_ORIGIN")
}

/// Returns the versions of LoadGen's package that can be built, the oldest first.
pub fn releases() -> impl Iterator<Item = &'static str> {
    env!("NETDIV_LOADGEN_RELEASES").split(' ')
}
