//! Ranges of numbers and times that keys accept.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use anyhow::{Context as _, ensure};
use netdiv_node_common::process::{ByteCount, TimeSpan};

/// Maximum time that a key accepts, a day: longer than any batch, and short enough to add to a time
/// without overflow.
const MAX_TIME: TimeSpan = TimeSpan::from_millis(86_400_000);

/// Resolution of the time limits that a node publishes.
pub(crate) const MILLISECOND: TimeSpan = TimeSpan::from_millis(1);

/// Returns the value if it is in the range. `key` names its key in the error.
pub(crate) fn within<N: PartialOrd + Display>(
    key: &str,
    value: N,
    range: RangeInclusive<N>,
) -> anyhow::Result<N> {
    ensure!(range.contains(&value), outside(key, &value, &range));
    Ok(value)
}

fn outside<N: Display>(key: &str, value: &dyn Display, range: &RangeInclusive<N>) -> String {
    format!("--{key} {value}: must be from {} to {}", range.start(), range.end())
}

/// Returns the number of bytes. Fails if it is out of the range.
pub(crate) fn bytes<N: PartialOrd + Display + TryFrom<u64>>(
    key: &str,
    given: ByteCount,
    range: RangeInclusive<N>,
) -> anyhow::Result<N> {
    let bytes = N::try_from(given.bytes()).ok().filter(|bytes| range.contains(bytes));
    bytes.with_context(|| outside(key, &given, &range))
}

/// Returns the time. Fails if it is shorter than `least` or longer than a day.
pub(crate) fn time(key: &str, given: TimeSpan, least: TimeSpan) -> anyhow::Result<Duration> {
    within(key, given, least..=MAX_TIME).map(TimeSpan::duration)
}

/// Like [`time`], but also fails if the time is not a whole number of milliseconds.
pub(crate) fn limit(key: &str, given: TimeSpan, least: TimeSpan) -> anyhow::Result<Duration> {
    let time = time(key, given, least)?;
    let is_whole = time.subsec_micros().is_multiple_of(1000);
    ensure!(is_whole, "--{key} {given}: must be whole milliseconds");
    Ok(time)
}
