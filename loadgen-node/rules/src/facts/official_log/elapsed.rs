//! How long a performance test took, as LoadGen's detail log has it in several places.

use super::DetailLog;
use crate::Scenario;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// The time by which LoadGen decides whether the least duration is met, in seconds: in Offline the way of the last sample, in
/// Server the time at which the last query was scheduled. LoadGen logs rates with six digits.
pub(crate) fn duration(scenario: Scenario, log: &DetailLog) -> Option<f64> {
    match scenario {
        Scenario::Offline => greatest_latency(log),
        Scenario::Server => until_last("result_scheduled_samples_per_sec", log),
        Scenario::SingleStream => until_last("result_qps_with_loadgen_overhead", log),
        Scenario::MultiStream => None,
    }
}

/// The time of all queries but the last at that rate, as LoadGen computes its rates.
pub(crate) fn until_last(rate: &str, log: &DetailLog) -> Option<f64> {
    let rate = log.number(rate).filter(|rate| *rate > 0.0)?;
    Some((log.number("result_query_count")? - 1.0) / rate)
}

/// The greatest latency of a sample, in seconds.
pub(crate) fn greatest_latency(log: &DetailLog) -> Option<f64> {
    log.number("result_max_latency_ns").map(|ns| ns / 1e9)
}

/// From LoadGen's mark for power meters at the start of the test to that at its last response, in seconds; the marks where one is
/// none.
pub(crate) fn between_power_marks(log: &DetailLog) -> Result<f64, String> {
    let mark = |key: &str| {
        let text = log.text(key).ok_or_else(|| format!("the detail log has no {key}"))?;
        seconds(text).ok_or_else(|| format!("{key} is `{text}`, which is no time"))
    };
    Ok(mark("power_end")? - mark("power_begin")?)
}

/// `11-22-2026 11:57:47.307` in seconds; the time zone is UTC.
fn seconds(mark: &str) -> Option<f64> {
    let (date, time) = mark.split_once(' ')?;
    let [month, day, year] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    // Days since a first of March, by Howard Hinnant: the leap day is the last of its year.
    let (year, month) = if month > 2.0 { (year, month - 3.0) } else { (year - 1.0, month + 9.0) };
    let leap_days = (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor();
    let days = year * 365.0 + leap_days + ((153.0 * month + 2.0) / 5.0).floor() + day;
    Some(days * SECONDS_PER_DAY + hour * 3600.0 + minute * 60.0 + second)
}

fn numbers(text: &str, between: char) -> Option<[f64; 3]> {
    let numbers: Option<Vec<f64>> = text.split(between).map(|part| part.parse().ok()).collect();
    let numbers: [f64; 3] = numbers?.try_into().ok()?;
    numbers.iter().all(|number| number.is_finite()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_times() {
        let between =
            |from: &str, to: &str| Some(((seconds(to)? - seconds(from)?) * 1000.0).round() as i64);
        let start = "11-22-2026 11:57:47.307";
        assert_eq!(between(start, "11-22-2026 11:57:51.322"), Some(4015));
        assert_eq!(between("02-28-2028 23:59:59.000", "03-01-2028 00:00:00.000"), Some(86_401_000));
        assert_eq!(between("12-31-2025 23:59:59.500", "01-01-2026 00:00:00.000"), Some(500));
        for broken in ["", "yesterday", "11-22-2026", "11-22-2026 11:57", "a-b-c d:e:f"] {
            assert_eq!(between(start, broken), None, "{broken}");
        }
    }
}
