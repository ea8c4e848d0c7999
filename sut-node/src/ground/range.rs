//! Numbers and times that a key takes.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use netdiv_node_common::process::{ByteCount, TimeSpan};

/// A day: longer than any batch, and no overflow where times are added.
const LONGEST: TimeSpan = TimeSpan::from_millis(86_400_000);

/// The finest time limit that a node publishes.
pub(crate) const MILLISECOND: TimeSpan = TimeSpan::from_millis(1);

/// A value that a key does not take.
#[derive(Debug, thiserror::Error)]
pub enum OutOfRange {
    /// Outside of a range.
    #[error("--{key} {value}: must be from {least} to {most}")]
    Outside {
        /// The key.
        key: &'static str,
        /// The refused value.
        value: String,
        /// The smallest value that would do.
        least: String,
        /// The largest value that would do.
        most: String,
    },
    /// Part of a millisecond.
    #[error("--{key} {value}: must be whole milliseconds")]
    TooFine {
        /// The key.
        key: &'static str,
        /// The refused value.
        value: TimeSpan,
    },
}

/// Checks that a value lies in a range.
pub(crate) fn within<N: PartialOrd + Display>(
    key: &'static str,
    value: N,
    range: RangeInclusive<N>,
) -> Result<N, OutOfRange> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (value, (least, most)) = (value.to_string(), range.into_inner());
    Err(OutOfRange::Outside { key, value, least: least.to_string(), most: most.to_string() })
}

/// A number of bytes in a range.
pub(crate) fn bytes<N: PartialOrd + Display + Copy + TryFrom<u64>>(
    key: &'static str,
    given: Option<ByteCount>,
    default: N,
    range: RangeInclusive<N>,
) -> Result<N, OutOfRange> {
    let Some(given) = given else { return within(key, default, range) };
    match N::try_from(given.bytes()) {
        Ok(bytes) => within(key, bytes, range),
        Err(_) => Err(OutOfRange::Outside {
            key,
            value: given.to_string(),
            least: range.start().to_string(),
            most: range.end().to_string(),
        }),
    }
}

/// A time of at most a day.
pub(crate) fn time(
    key: &'static str,
    given: Option<TimeSpan>,
    default: TimeSpan,
    least: TimeSpan,
) -> Result<Duration, OutOfRange> {
    within(key, given.unwrap_or(default), least..=LONGEST).map(TimeSpan::duration)
}

/// A time limit of at most a day, in whole milliseconds.
pub(crate) fn limit(
    key: &'static str,
    given: Option<TimeSpan>,
    default: TimeSpan,
    least: TimeSpan,
) -> Result<Duration, OutOfRange> {
    let time = time(key, given, default, least)?;
    match given {
        Some(value) if !time.subsec_micros().is_multiple_of(1000) => {
            Err(OutOfRange::TooFine { key, value })
        }
        _ => Ok(time),
    }
}
