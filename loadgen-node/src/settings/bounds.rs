//! Bounds of numbers in settings.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use netdiv_node_common::process::{ByteCount, TimeSpan};

use crate::RunError;

/// Returns the error for an invalid setting.
pub(crate) fn usage<T>(text: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Usage(text.into()))
}

/// Checks that a number is not 0.
pub(crate) fn at_least_one<N: PartialEq + From<u8>>(key: &str, value: N) -> Result<N, RunError> {
    if value == N::from(0) { usage(format!("--{key} 0: must be at least 1")) } else { Ok(value) }
}

/// Minimum time limit.
const LEAST_TIME: TimeSpan = TimeSpan::from_millis(1);

/// Returns a time limit. Fails if it is too short.
pub(crate) fn time(key: &str, limit: TimeSpan) -> Result<Duration, RunError> {
    if limit < LEAST_TIME {
        return usage(format!("--{key} {limit}: must be at least {LEAST_TIME}"));
    }
    Ok(limit.duration())
}

/// Returns a number of bytes. Fails for a number out of the range.
pub(crate) fn bytes<N: PartialOrd + Display + TryFrom<u64>>(
    key: &str,
    given: ByteCount,
    range: RangeInclusive<N>,
) -> Result<N, RunError> {
    match N::try_from(given.bytes()) {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => usage(format!("--{key} {given}: must be from {} to {}", range.start(), range.end())),
    }
}

/// Fails for a number out of the range.
pub(crate) fn within<N: PartialOrd + Display>(
    key: &str,
    value: N,
    range: RangeInclusive<N>,
) -> Result<(), RunError> {
    if range.contains(&value) {
        return Ok(());
    }
    usage(format!("--{key} {value}: must be from {} to {}", range.start(), range.end()))
}
