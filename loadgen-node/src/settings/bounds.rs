//! The values that numbers may have.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use crate::RunError;

/// A setting is refused.
pub(crate) fn usage<T>(text: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Usage(text.into()))
}

/// A number that must not be 0.
pub(crate) fn at_least_one<N: PartialEq + From<u8>>(key: &str, value: N) -> Result<N, RunError> {
    if value == N::from(0) { usage(format!("--{key} 0: must be at least 1")) } else { Ok(value) }
}

/// Sets a time limit, if one was given.
pub(super) fn set_ms(key: &str, limit: &mut Duration, ms: Option<u64>) -> Result<(), RunError> {
    if let Some(ms) = ms {
        *limit = Duration::from_millis(at_least_one(key, ms)?);
    }
    Ok(())
}

/// Refuses a number that is not in the range.
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
