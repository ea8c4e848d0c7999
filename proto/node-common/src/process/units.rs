//! Settings with a unit: times such as `5s` and `250us`, and numbers of bytes such as `64MiB`.

use std::{fmt, str::FromStr, time::Duration};

use bytesize::ByteSize;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// Duration as an operator writes it, in whole microseconds: `250us`, `10s`, `1m`, `1h 30m`. In
/// files it is a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(Duration);

impl TimeSpan {
    /// Duration of zero.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// Creates a duration from milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Creates a duration from microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }

    /// Returns the duration.
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl From<Duration> for TimeSpan {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

/// Units in which a time is displayed, from the longest, each with its length in microseconds. The
/// display uses the first unit that gives an integer, else microseconds.
const UNITS: [(u128, &str); 4] =
    [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1000, "ms")];

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        match UNITS.iter().find(|(unit, _)| micros != 0 && micros.is_multiple_of(*unit)) {
            Some((unit, word)) => write!(f, "{}{word}", micros / unit),
            None if micros == 0 => f.write_str("0s"),
            None => write!(f, "{micros}us"),
        }
    }
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let refused =
            |why: &str| Err(format!("`{text}` {why}; write a time as 10s, 250us, 1m or 1h 30m"));
        if text != "0" && is_number(text) {
            return refused("has no unit");
        }
        match humantime::parse_duration(text) {
            Ok(time) if u64::try_from(time.as_micros()).is_err() => refused("is too long"),
            Ok(time) if time.subsec_nanos() % 1000 != 0 => refused("is finer than a microsecond"),
            Ok(time) => Ok(Self(time)),
            Err(humantime::DurationError::NumberOverflow) => refused("is too long"),
            Err(_) => refused("is not a time"),
        }
    }
}

/// Returns true if a text consists of digits.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_value(deserializer)
    }
}

/// Number of bytes as an operator writes it: `67108864`, `64MiB`, `1GB`. In files it is a number or
/// a string. Records contain the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ByteCount(u64);

impl ByteCount {
    /// Creates a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ByteCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let refused = |why: &str| Err(format!("`{text}` {why}; write 67108864, 64MiB or 1GB"));
        if is_number(text) {
            return text.parse().map(Self).or_else(|_| refused("is too large"));
        }
        match text.parse::<ByteSize>() {
            // The parser replaces numbers that do not fit by the maximum.
            Ok(ByteSize(u64::MAX)) => refused("is too large"),
            Ok(ByteSize(bytes)) => Ok(Self(bytes)),
            Err(_) => refused("is not a number of bytes"),
        }
    }
}

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_value(deserializer)
    }
}

/// Parses a value of a file: a text, or a whole number without a unit.
fn parse_value<'de, T: FromStr<Err = String>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Number(number) if !number.is_f64() => number.to_string(),
        other => {
            let why = "expected a whole number, or a text such as \"10s\" or \"64MiB\"";
            return Err(de::Error::custom(format!("`{other}`: {why}")));
        }
    };
    text.parse().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, micros, shown) in [
            ("5s", 5_000_000, "5s"),
            ("250us", 250, "250us"),
            ("1m", 60_000_000, "1m"),
            ("1500ms", 1_500_000, "1500ms"),
            ("1h 30m", 5_400_000_000, "90m"),
            ("2days", 172_800_000_000, "48h"),
            ("0", 0, "0s"),
            ("0ms", 0, "0s"),
            (" 1s ", 1_000_000, "1s"),
        ] {
            let time: TimeSpan = text.parse().unwrap();
            assert_eq!(time, TimeSpan::from_micros(micros), "{text}");
            assert_eq!(time.to_string(), shown);
            assert_eq!(shown.parse(), Ok(time), "what is shown can be read");
        }
    }

    #[test]
    fn what_is_not_a_time_is_refused_with_what_to_write() {
        for (text, why) in [
            ("", "is not a time"),
            ("10", "has no unit"),
            ("5 parsecs", "is not a time"),
            ("-5s", "is not a time"),
            ("NaN", "is not a time"),
            ("s", "is not a time"),
            ("5ss", "is not a time"),
            ("1ns", "finer than a microsecond"),
            ("18446744073709551615s", "too long"),
            ("18446744073709551616s", "too long"),
            ("99999999999999999999999ms", "too long"),
        ] {
            let error = text.parse::<TimeSpan>().unwrap_err();
            assert!(
                error.contains(why) && error.contains("write a time as 10s"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn bytes_have_units_or_none() {
        for (text, bytes) in [
            ("0", 0),
            ("67108864", 64 << 20),
            ("64MiB", 64 << 20),
            ("64 MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("1GB", 1_000_000_000),
            ("1.5KiB", 1536),
            ("18446744073709551614", u64::MAX - 1),
        ] {
            assert_eq!(text.parse(), Ok(ByteCount::new(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_number_of_bytes_is_refused_with_what_to_write() {
        for (text, why) in [
            ("", "is not a number of bytes"),
            ("-1", "is not a number of bytes"),
            ("-1MiB", "is not a number of bytes"),
            ("NaN", "is not a number of bytes"),
            ("inf", "is not a number of bytes"),
            ("5 parsecs", "is not a number of bytes"),
            ("MiB", "is not a number of bytes"),
            ("1e3", "is not a number of bytes"),
            ("99999999999999999999", "too large"),
            ("99999999999999999999GB", "too large"),
        ] {
            let error = text.parse::<ByteCount>().unwrap_err();
            assert!(error.contains(why) && error.contains("64MiB"), "{text}: {error}");
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct UnitTestKeys {
        time: TimeSpan,
        bytes: ByteCount,
    }

    #[test]
    fn files_have_strings_and_numbers_of_bytes_also_plain() {
        let keys =
            UnitTestKeys { time: TimeSpan::from_millis(1500), bytes: ByteCount::new(1 << 20) };
        for bytes in ["1048576", "'1MiB'", "'1048576'"] {
            let text = format!("time = '1500ms'\nbytes = {bytes}\n");
            assert_eq!(toml::from_str::<UnitTestKeys>(&text).unwrap(), keys);
        }
        let text = toml::to_string(&keys).unwrap();
        assert_eq!(text, "time = \"1500ms\"\nbytes = 1048576\n");
        for (text, why) in [
            ("time = 5\nbytes = 1", "`5` has no unit; write a time as 10s"),
            ("time = 5.0\nbytes = 1", "`5.0`: expected a whole number, or a text such as \"10s\""),
            ("time = '5'\nbytes = 1", "has no unit"),
            ("time = '5s'\nbytes = -1", "`-1` is not a number of bytes"),
            ("time = '5s'\nbytes = 1.5", "expected a whole number"),
            ("time = '5s'\nbytes = nan", "expected a whole number"),
            ("time = '5s'\nbytes = '1 parsec'", "is not a number of bytes"),
        ] {
            let error = toml::from_str::<UnitTestKeys>(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
