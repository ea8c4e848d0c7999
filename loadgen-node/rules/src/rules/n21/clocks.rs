//! Compares the dates and times of a run in LoadGen's log and in the record.

use netdiv_node_common::words::Mode;

use crate::{
    facts::official_log::elapsed::{AROUND_SECONDS, CLOCK_MARGIN_SHARE},
    official_log::{
        DetailLog, KEYS_PER_SAMPLE_SET,
        timestamp::{parse_iso, parse_power_mark},
    },
    subject::{Findings, RunFiles, Subject},
};

/// Maximum difference between two times that a run recorded for one moment, in seconds. The
/// machine's clock may be corrected between two readings.
const STEP_SECONDS: f64 = 60.0;

/// Step between time-zone offsets, in seconds: all offsets from UTC are multiples of a quarter of
/// an hour. LoadGen writes `test_datetime` in local time, although its last letter, `Z`, denotes
/// UTC.
const ZONE_SECONDS: f64 = 900.0;

/// Maximum offset of a time zone from UTC, in seconds.
const FARTHEST_ZONE: f64 = 14.0 * 3600.0;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let mut at = found.at(&run.place);
        // N12 finds a log of several tests.
        if detail.tests() == 1 {
            let wrong = not_a_date(detail)
                .or_else(|| uneven(detail))
                .or_else(|| inconsistent_marks(detail));
            at.fail_each(wrong.map(|what| format!("{what}: submit the log as LoadGen wrote it")));
        }
        if at.is_kept()
            && let Some(what) = other_moment(run, detail)
        {
            at.fail_at(&run.record_place, format!("{what}: take the record as the run wrote it"));
        }
        at.or_pass("the dates and times of log and record are of one moment");
    }
}

/// Returns a finding if `test_datetime`, or a mark for power meters (`power_begin`, `power_end`),
/// is not a date and time.
fn not_a_date(detail: &DetailLog) -> Option<String> {
    let of = |key: &'static str, read: fn(&str) -> Option<f64>| {
        let is_wrong = move |value: &&serde_json::Value| value.as_str().and_then(read).is_none();
        detail.all(key).filter(is_wrong).map(move |value| (key, value)).next()
    };
    let wrong = of("test_datetime", parse_iso)
        .or_else(|| of("power_begin", parse_power_mark))
        .or_else(|| of("power_end", parse_power_mark));
    wrong.map(|(key, value)| format!("{key} is {value}, which is not a date and time"))
}

/// Returns a finding if two keys that LoadGen logs once for each set of samples have different
/// numbers of entries. A performance test has one set; N33 reports keys with several entries in its
/// log.
fn uneven(detail: &DetailLog) -> Option<String> {
    if detail.mode() == Some(Mode::Performance) {
        return None;
    }
    let counts = KEYS_PER_SAMPLE_SET.map(|key| (key, detail.all(key).count()));
    let mut counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let (first, count) = counts.next()?;
    let (other, others) = counts.find(|(_, others)| *others != count)?;
    Some(format!("the log has {count} entries of {first}, and {others} of {other}"))
}

/// Returns the start and the end of each set of samples, in seconds since 1970, as LoadGen's marks
/// for power meters state them.
fn sets(detail: &DetailLog) -> Vec<(f64, f64)> {
    let marks = |key: &str| {
        let values = detail.all(key);
        values.filter_map(|value| parse_power_mark(value.as_str()?)).collect::<Vec<_>>()
    };
    marks("power_begin").into_iter().zip(marks("power_end")).collect()
}

/// Returns a finding if the marks for power meters are out of order, or if the first mark
/// contradicts `test_datetime`.
fn inconsistent_marks(detail: &DetailLog) -> Option<String> {
    let sets = sets(detail);
    let is_backward = |(begin, end): &(f64, f64)| *end < begin - 1.0;
    if sets.iter().any(is_backward) {
        return Some("power_end is before power_begin".into());
    }
    if sets.windows(2).any(|pair| pair[1].0 < pair[0].1 - 1.0) {
        return Some("a set of samples begins before the one before it ends (power_begin)".into());
    }
    let started = parse_iso(detail.text("test_datetime")?)?;
    let first = started + detail.seconds_of("generated_query_duration")?;
    let begin = sets.first()?.0;
    (!is_same_in_some_zone(first, begin, STEP_SECONDS)).then(|| {
        let (date, mark) = (detail.text("test_datetime"), detail.text("power_begin"));
        let [date, mark] = [date, mark].map(Option::unwrap_or_default);
        format!("test_datetime is {date}, and power_begin {mark}, which is another moment in every time zone")
    })
}

/// Returns true if the local time `local` is the UTC time `moment` in some time zone, within
/// `slack` seconds.
fn is_same_in_some_zone(local: f64, moment: f64, slack: f64) -> bool {
    let offset = local - moment;
    let zone = (offset / ZONE_SECONDS).round() * ZONE_SECONDS;
    (offset - zone).abs() <= slack && zone.abs() <= FARTHEST_ZONE
}

/// Returns a finding if the record's clock and LoadGen's put the test at different times.
fn other_moment(run: &RunFiles, detail: &DetailLog) -> Option<String> {
    let record = run.result()?;
    let said = record.started.as_deref()?;
    let Some(started) = parse_iso(said) else {
        return Some(format!("started is `{said}`, which is not a date and time"));
    };
    let sets = sets(detail);
    let logged: Vec<_> = detail.all_seconds_of("generated_query_duration").collect();
    for ((begin, _), after) in sets.iter().zip(logged) {
        let after = after?;
        if (begin - (started + after)).abs() > STEP_SECONDS + after * CLOCK_MARGIN_SHARE {
            return Some(format!(
                "started is {said}, and power_begin in LoadGen's log is {:.0} s from it",
                begin - started
            ));
        }
    }
    let date = detail.text("test_datetime")?;
    if !is_same_in_some_zone(parse_iso(date)?, started, STEP_SECONDS) {
        return Some(format!(
            "started is {said}, and LoadGen's test_datetime {date}, which is another moment in every time zone"
        ));
    }
    let end = sets.last()?.1;
    let most = record.test_seconds * (1.0 + CLOCK_MARGIN_SHARE) + AROUND_SECONDS;
    (end - started > most).then(|| {
        format!(
            "test_seconds is {:.1}, and LoadGen's last power_end is {:.1} s after started",
            record.test_seconds,
            end - started
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_is_a_moment_in_some_zone() {
        let quarter = 15.0 * 60.0;
        for zone in [0.0, 1.0, 4.0, -24.0, 23.0, 56.0, -48.0] {
            assert!(is_same_in_some_zone(zone * quarter + 3.0, 0.0, STEP_SECONDS), "{zone}");
        }
        for apart in [450.0, 57.0 * quarter, -60.0 * quarter, 31_536_000.0, 86_400.0] {
            assert!(!is_same_in_some_zone(apart, 0.0, STEP_SECONDS), "{apart}");
        }
    }
}
