//! Judges LoadGen's rate: it agrees with LoadGen's counts and times, and with the duration of the
//! run.

use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    facts::official_log::elapsed::{AROUND_SECONDS, CLOCK_MARGIN_SHARE},
    official_log::{DetailLog, elapsed},
    record::RunResult,
    subject::{Findings, Subject},
};

/// Relative tolerance of LoadGen's rates, which have six digits.
const DIGITS: f64 = 1e-4;

/// Relative tolerance between the record's duration and the duration that LoadGen's rate gives.
/// Their clocks differ, and Server's rate omits the last query.
const ROUNDING: f64 = 0.02;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let measures = detail.mode() == Some(Mode::Performance);
        let Some(scenario) = detail.scenario().filter(|_| run.is_performance() && measures) else {
            continue;
        };
        let Some(rate) = detail.throughput(scenario) else { continue };
        let counted = match scenario {
            Scenario::Offline => offline(detail),
            Scenario::Server => server(detail),
            Scenario::SingleStream | Scenario::MultiStream => continue,
        };
        let mut at = found.at(&run.place);
        at.fail_each(generated_otherwise(detail));
        at.fail_each(counted.and_then(|counted| compare_with_log(rate, counted)));
        if at.is_kept()
            && let Some(text) = run.result().and_then(|record| compare_with_clock(rate, record))
        {
            at.fail_at(&run.record_place, text);
        }
        at.or_pass("LoadGen's rate is the one that samples and time give");
    }
}

/// Returns a finding if the samples per query that LoadGen generated contradict the settings in
/// effect.
fn generated_otherwise(detail: &DetailLog) -> Option<String> {
    if !detail.logs_as_issued() {
        return None;
    }
    let key = "generated_samples_per_query";
    let (generated, wanted) = (detail.integer(key)?, detail.samples_per_query()?);
    (generated != wanted).then(|| {
        format!(
            "{key} is {generated}, and by the settings in effect it is {wanted}: submit the log as LoadGen wrote it"
        )
    })
}

/// Number of samples, and the minimum and maximum duration of answering them, in seconds, according
/// to LoadGen's log.
type SampleCount = (f64, f64, f64);

/// Returns the counts of Offline: the query's latency is the duration of the whole test.
fn offline(detail: &DetailLog) -> Option<SampleCount> {
    if !detail.logs_as_issued() {
        return None;
    }
    let time = elapsed::greatest_latency(detail)?;
    Some((samples(detail)?, time, time))
}

/// Returns the counts of Server for all queries but the last: they take at least until the last
/// query is due, and at most the maximum latency longer.
fn server(detail: &DetailLog) -> Option<SampleCount> {
    let due = elapsed::duration(Scenario::Server, detail)?;
    Some((samples(detail)? - 1.0, due, due + elapsed::greatest_latency(detail)?))
}

fn samples(detail: &DetailLog) -> Option<f64> {
    Some(detail.number("result_query_count")? * detail.samples_per_query()? as f64)
}

fn compare_with_log(rate: f64, (samples, least, most): SampleCount) -> Option<String> {
    let time = samples / rate;
    (time < least * (1.0 - DIGITS) || time > most * (1.0 + DIGITS)).then(|| {
        format!(
            "by the log's rate {samples} samples took {time:.1} s, by its own times {least:.1} to {most:.1} s: submit the log as \
             LoadGen wrote it"
        )
    })
}

/// Returns a finding if the record's duration contradicts LoadGen's rate. The record's clock starts
/// before the test and stops after it.
fn compare_with_clock(rate: f64, record: &RunResult) -> Option<String> {
    let seconds = record.test_seconds;
    let time = record.samples.issued as f64 / rate;
    let most = time * (1.0 + CLOCK_MARGIN_SHARE) + AROUND_SECONDS;
    (!(time * (1.0 - ROUNDING)..=most).contains(&seconds)).then(|| {
        format!(
            "at LoadGen's rate the samples of the record take {time:.1} s, and its test_seconds is {seconds:.1}"
        )
    })
}
