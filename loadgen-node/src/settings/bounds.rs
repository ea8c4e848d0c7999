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

/// Sets a time limit, if one is given.
pub(crate) fn set_time(
    key: &str,
    limit: &mut Duration,
    given: Option<TimeSpan>,
) -> Result<(), RunError> {
    if let Some(time) = given {
        if time < LEAST_TIME {
            return usage(format!("--{key} {time}: must be at least {LEAST_TIME}"));
        }
        *limit = time.duration();
    }
    Ok(())
}

/// Returns the given number of bytes, or the default. Fails for a number out of the range.
pub(crate) fn bytes<N>(
    key: &str,
    given: Option<ByteCount>,
    default: N,
    range: RangeInclusive<N>,
) -> Result<N, RunError>
where
    N: PartialOrd + Display + TryFrom<u64>,
{
    let Some(given) = given else { return Ok(default) };
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
