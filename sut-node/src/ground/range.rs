//! Ranges of numbers and times that keys accept.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use netdiv_node_common::process::{ByteCount, TimeSpan};

/// Maximum time that a key accepts, a day: longer than any batch, and short enough to add to a time
/// without overflow.
const MAX_TIME: TimeSpan = TimeSpan::from_millis(86_400_000);

/// Resolution of the time limits that a node publishes.
pub(crate) const MILLISECOND: TimeSpan = TimeSpan::from_millis(1);

/// A value that a key does not accept.
#[derive(Debug, thiserror::Error)]
pub enum OutOfRange {
    /// The value is outside of the range.
    #[error("--{key} {value}: must be from {least} to {most}")]
    Outside {
        /// Name of the key.
        key: &'static str,
        /// Refused value.
        value: String,
        /// Minimum value.
        least: String,
        /// Maximum value.
        most: String,
    },
    /// The value is not a whole number of milliseconds.
    #[error("--{key} {value}: must be whole milliseconds")]
    TooFine {
        /// Name of the key.
        key: &'static str,
        /// Refused value.
        value: TimeSpan,
    },
}

/// Returns the value if it is in the range. `key` names its key in the error.
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

/// Returns the number of bytes `given`, or the default if it is missing. Fails if the number is out
/// of the range.
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

/// Returns the time `given`, or the default if it is missing. Fails if the time is shorter than
/// `least` or longer than a day.
pub(crate) fn time(
    key: &'static str,
    given: Option<TimeSpan>,
    default: TimeSpan,
    least: TimeSpan,
) -> Result<Duration, OutOfRange> {
    within(key, given.unwrap_or(default), least..=MAX_TIME).map(TimeSpan::duration)
}

/// Like [`time`], but also fails if the time is not a whole number of milliseconds.
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
