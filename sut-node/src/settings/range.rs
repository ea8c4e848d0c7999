//! Numbers that a key takes.

use std::ops::RangeInclusive;

/// A day: longer than any batch, and no overflow where times are added.
pub(super) const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// A number that a key does not take.
#[derive(Debug, thiserror::Error)]
#[error("--{key} {value}: must be from {least} to {most}")]
pub struct OutOfRange {
    /// The key.
    pub key: &'static str,
    /// The refused value.
    pub value: u64,
    /// The smallest value that would do.
    pub least: u64,
    /// The largest value that would do.
    pub most: u64,
}

/// Checks that a number lies in a range.
pub(super) fn within<N: Copy + PartialOrd + TryInto<u64>>(
    key: &'static str,
    value: N,
    range: RangeInclusive<N>,
) -> Result<N, OutOfRange> {
    if range.contains(&value) {
        return Ok(value);
    }
    let number = |n: N| n.try_into().unwrap_or(u64::MAX);
    let (least, most) = (number(*range.start()), number(*range.end()));
    Err(OutOfRange { key, value: number(value), least, most })
}
