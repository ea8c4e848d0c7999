//! Compares all times in LoadGen's log and in the record, which must belong to one test.

use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    facts::official_log::elapsed::{AROUND_SECONDS, CLOCK_MARGIN_SHARE},
    official_log::{DetailLog, elapsed},
    record::RunResult,
    subject::{Findings, PlaceJudgement, RunFiles, Subject},
};

/// Relative tolerance of LoadGen's rates, which have six digits.
const DIGITS: f64 = 1e-5;

/// Tolerance between two times of a test, in seconds. Marks for power meters are in milliseconds.
const CLOCK_SECONDS: f64 = 1.0;

/// Maximum pause between two queries of Server, as a multiple of the mean. Pauses are distributed
/// exponentially, so a longer one does not occur.
const LONGEST_PAUSE: f64 = 40.0;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let mut at = found.at(&run.place);
        if let Some(scenario) = detail.scenario()
            && run.is_performance()
            && detail.mode() == Some(Mode::Performance)
        {
            times(scenario, detail, &mut at);
        }
        if at.is_kept() {
            by_record(run, detail, &mut at);
        }
        at.or_pass("the times in LoadGen's log and in the record are of one test");
    }
}

/// Compares the durations of one test that the log states in several entries.
fn times(scenario: Scenario, detail: &DetailLog, at: &mut PlaceJudgement) {
    let marked = match elapsed::between_power_marks(detail) {
        Ok(Some(seconds)) => seconds,
        // `clocks.rs` finds marks that are not dates.
        Ok(None) => return,
        Err(why) => return at.fail(format!("{why}: submit the log as LoadGen wrote it")),
    };
    let wrong = measured(scenario, detail, marked)
        .or_else(|| scheduled(scenario, detail))
        .or_else(|| logged(detail, marked));
    at.fail_each(wrong.map(|what| format!("{what}: submit the log as LoadGen wrote it")));
}

/// Compares the duration from the start of the test to its last response, by LoadGen's figures,
/// with `marked`: the seconds between LoadGen's marks for power meters.
fn measured(scenario: Scenario, detail: &DetailLog, marked: f64) -> Option<String> {
    let least = elapsed::duration(scenario, detail)?;
    let most = match scenario {
        Scenario::Offline => least,
        _ => least + elapsed::greatest_latency(detail)?,
    };
    let slack = CLOCK_SECONDS + least * DIGITS;
    (!(least - slack..=most + slack).contains(&marked)).then(|| {
        format!("by its figures the test took {least:.1} to {most:.1} s, from power_begin to power_end {marked:.1} s")
    })
}

/// Returns a finding if LoadGen issued the whole schedule of Server, but its last query was not due
/// at the end of the schedule.
fn scheduled(scenario: Scenario, detail: &DetailLog) -> Option<String> {
    let queries = detail.number("result_query_count")?;
    let generated = detail.number("generated_query_count")?;
    if scenario != Scenario::Server || generated != queries {
        return None;
    }
    let last = elapsed::duration(scenario, detail)?;
    let end = detail.number("generated_query_duration")? / 1e9;
    let pause = LONGEST_PAUSE * last / queries;
    let slack = CLOCK_SECONDS + last * DIGITS;
    (!(last - slack..=last + pause + slack).contains(&end)).then(|| {
        format!("by result_scheduled_samples_per_sec the last query was due after {last:.1} s, by generated_query_duration \
             after {end:.1} s")
    })
}

/// Returns a finding if the times at which LoadGen wrote its entries contradict `marked`, the
/// seconds between the marks for power meters. It writes `generated_query_duration` before the
/// start of the test, and `power_end` after its end.
fn logged(detail: &DetailLog, marked: f64) -> Option<String> {
    let time = |key: &str| detail.seconds_of(key);
    let (Some(start), Some(end)) = (time("generated_query_duration"), time("power_end")) else {
        return Some("its entries lack the time at which they were written (time_ms)".into());
    };
    let lines = end - start;
    let most = marked * (1.0 + CLOCK_MARGIN_SHARE) + AROUND_SECONDS;
    (!(marked - CLOCK_SECONDS..=most).contains(&lines)).then(|| {
        format!("from power_begin to power_end it has {marked:.1} s, and its entries around the test are {lines:.1} s apart \
             (time_ms)")
    })
}

/// Compares the record's duration with the log's. The record's clock ran from before the test until
/// after it. `throughput.rs` compares the duration with LoadGen's rate.
fn by_record(run: &RunFiles, detail: &DetailLog, at: &mut PlaceJudgement) {
    let (Some(record), Some(last)) = (run.result(), detail.last_seconds()) else { return };
    let RunResult { test_seconds, .. } = *record;
    let most = last * (1.0 + CLOCK_MARGIN_SHARE) + AROUND_SECONDS;
    if !(last - CLOCK_SECONDS..=most).contains(&test_seconds) {
        let text = format!(
            "test_seconds is {test_seconds:.1}, and LoadGen wrote its log for {last:.1} s (time_ms): take the record as the run \
             wrote it"
        );
        at.fail_at(&run.record_place, text);
    }
}
