//! Of N21: LoadGen's rate is the one that its own counts and times give, and the run took as long as that rate needs.

use netdiv_words::Mode;

use super::{checked_folder::Subject, findings::Findings};
use crate::{Rule::N21, Scenario, official_log::DetailLog, result::RunResult};

/// Figures of one log may differ by their rounding, and Server's rate leaves out the way of the first and last query.
const ROUNDING: f64 = 0.02;

/// Besides its test a run loads samples and writes logs; that takes a part of its time, and some seconds whatever its length.
const AROUND: f64 = 0.05;
const AROUND_SECONDS: f64 = 60.0;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details() {
        let measures = detail.mode() == Some(Mode::Performance);
        let Some(scenario) = entry.scenario.filter(|_| run.measures() && measures) else {
            continue;
        };
        let Some(rate) = detail.figure(scenario) else { continue };
        let counted = match scenario {
            Scenario::Offline => offline(detail),
            Scenario::Server => server(detail),
            Scenario::SingleStream | Scenario::MultiStream => continue,
        };
        let mut at = found.at(N21, &run.place);
        at.fail_each(counted.and_then(|counted| by_log(rate, counted)));
        if let Some(text) = run.result().and_then(|record| by_clock(rate, record)) {
            at.fail_there(&run.record_place, text);
        }
        at.or_pass("LoadGen's rate is the one that samples and time give");
    }
}

/// Samples, and the least and most nanoseconds in which LoadGen's log has them answered.
type Counted = (f64, f64, f64);

/// The query's latency is the time of the whole test.
fn offline(detail: &DetailLog) -> Option<Counted> {
    let samples = samples(detail)?;
    let time = detail.number("result_max_latency_ns")?;
    Some((samples, time, time))
}

/// The last query is issued at the end of the schedule, and answered within the greatest latency.
fn server(detail: &DetailLog) -> Option<Counted> {
    let samples = samples(detail)?;
    // A schedule that was not played to its end says nothing.
    let generated = detail.number("generated_query_count")?;
    let schedule = detail.number("generated_query_duration").filter(|_| generated <= samples)?;
    Some((samples, schedule, schedule + detail.number("result_max_latency_ns")?))
}

fn samples(detail: &DetailLog) -> Option<f64> {
    let each = detail.number("effective_samples_per_query")?;
    Some(detail.number("result_query_count")? * each)
}

fn by_log(rate: f64, (samples, least, most): Counted) -> Option<String> {
    let time = samples / rate * 1e9;
    (time < least * (1.0 - ROUNDING) || time > most * (1.0 + ROUNDING)).then(|| {
        format!(
            "by the log's rate {samples} samples took {:.1} s, by its own times {:.1} to {:.1} s",
            time / 1e9,
            least / 1e9,
            most / 1e9
        )
    })
}

/// The record's own clock ran from before the test to after it.
fn by_clock(rate: f64, record: &RunResult) -> Option<String> {
    let seconds = record.test_seconds;
    let time = record.samples.issued as f64 / rate;
    let most = time * (1.0 + AROUND) + AROUND_SECONDS;
    (!(time * (1.0 - ROUNDING)..=most).contains(&seconds)).then(|| {
        format!(
            "at LoadGen's rate the samples of the record take {time:.1} s, and it has {seconds:.1} s for its test"
        )
    })
}
