//! Histograms of durations.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Longest time that the histograms distinguish, in nanoseconds: one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

pub(crate) fn histogram(digits: u8) -> Histogram<u64> {
    #[allow(clippy::expect_used, reason = "the bounds are constants that the library allows")]
    Histogram::new_with_bounds(1, LONGEST_NS, digits).expect("valid bounds")
}

/// Adds one histogram to another. Both have the same bounds, so this cannot fail.
pub(crate) fn merge_histogram(into: &mut Histogram<u64>, other: &Histogram<u64>) {
    let added = into.add(other);
    debug_assert!(added.is_ok());
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
