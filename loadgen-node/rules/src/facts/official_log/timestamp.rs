//! Dates and times of LoadGen's log and of the record, as seconds since 1970.

use std::time::UNIX_EPOCH;

/// Parses a date and time in the form of `test_datetime` and of the record:
/// `2026-11-22T11:57:47.307Z`.
pub(crate) fn parse_iso(text: &str) -> Option<f64> {
    let time = humantime::parse_rfc3339(text.trim()).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}

/// Parses a mark for power meters: `11-22-2026 11:57:47.307`, in UTC.
pub(crate) fn parse_power_mark(text: &str) -> Option<f64> {
    let (date, time) = text.trim().split_once(' ')?;
    let [month, day, year] = date.split('-').collect::<Vec<_>>().try_into().ok()?;
    parse_iso(&format!("{year}-{month}-{day}T{time}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_dates_are_moments() {
        let between = |from: &str, to: &str| {
            Some(((parse_power_mark(to)? - parse_power_mark(from)?) * 1000.0).round() as i64)
        };
        let start = "11-22-2026 11:57:47.307";
        assert_eq!(between(start, "11-22-2026 11:57:51.322"), Some(4015));
        assert_eq!(between("02-28-2028 23:59:59.000", "03-01-2028 00:00:00.000"), Some(86_401_000));
        assert_eq!(between("12-31-2025 23:59:59.500", "01-01-2026 00:00:00.000"), Some(500));
        assert_eq!(parse_power_mark(start), parse_iso("2026-11-22T11:57:47.307Z"));
        for broken in [
            "",
            "yesterday",
            "11-22-2026",
            "11-22-2026 11:57",
            "a-b-c d:e:f",
            "13-22-2026 11:57:47.307",
            "02-30-2026 11:57:47.307",
            "11-22-2026 25:57:47.307",
            "11-22-2026 11:77:47.307",
        ] {
            assert_eq!(parse_power_mark(broken), None, "{broken}");
        }
        for broken in ["2026-13-40T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-22", "now"] {
            assert_eq!(parse_iso(broken), None, "{broken}");
        }
        assert!(parse_iso("2028-02-29T23:59:59Z").is_some());
    }
}
