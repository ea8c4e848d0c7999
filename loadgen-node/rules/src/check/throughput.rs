//! Of N21: LoadGen's rate is the one that its own counts and times give, and the run took as long as that rate needs.

use super::{
    checked_folder::{Run, Subject},
    findings::Findings,
};
use crate::{
    Rule, Scenario,
    official_log::{self, DetailLog},
};

const N21: Rule = Rule::new(21);

/// Figures of one log may differ by their rounding, and Server's rate leaves out the way of the first and last query.
const ROUNDING: f64 = 0.02;

/// Besides its test a run loads samples and writes logs; that takes a part of its time, and some seconds whatever its length.
const AROUND: f64 = 0.05;
const AROUND_SECONDS: f64 = 60.0;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details() {
        let measures = detail.text("effective_test_mode") == Some("PerformanceOnly");
        let Some(scenario) = entry.scenario.filter(|_| run.measures() && measures) else {
            continue;
        };
        let Some(rate) = official_log::metric(scenario, detail).map(|metric| metric.value) else {
            continue;
        };
        let before = found.problems(N21);
        match scenario {
            Scenario::Offline => by_log(run, rate, offline(detail), found),
            Scenario::Server => by_log(run, rate, server(detail), found),
            Scenario::SingleStream | Scenario::MultiStream => continue,
        }
        by_clock(run, rate, found);
        let text = "LoadGen's rate is the one that samples and time give";
        found.pass_unless_more(N21, before, &run.place, text);
    }
}

/// Samples, and the least and most nanoseconds in which LoadGen's log has them answered.
type Counted = Option<(f64, f64, f64)>;

/// The query's latency is the time of the whole test.
fn offline(detail: &DetailLog) -> Counted {
    let samples = samples(detail)?;
    let time = detail.number("result_max_latency_ns")?;
    Some((samples, time, time))
}

/// The last query is issued at the end of the schedule, and answered within the greatest latency.
fn server(detail: &DetailLog) -> Counted {
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

fn by_log(run: &Run, rate: f64, counted: Counted, found: &mut Findings) {
    let Some((samples, least, most)) = counted else { return };
    let time = samples / rate * 1e9;
    if time < least * (1.0 - ROUNDING) || time > most * (1.0 + ROUNDING) {
        let text = format!(
            "by the log's rate {samples} samples took {:.1} s, by its own times {:.1} to {:.1} s",
            time / 1e9,
            least / 1e9,
            most / 1e9
        );
        found.fail(N21, &run.place, text);
    }
}

/// The record's own clock ran from before the test to after it.
fn by_clock(run: &Run, rate: f64, found: &mut Findings) {
    let Some(record) = run.result() else { return };
    let seconds = record.test_seconds;
    let time = record.samples.issued as f64 / rate;
    let most = time * (1.0 + AROUND) + AROUND_SECONDS;
    if !(time * (1.0 - ROUNDING)..=most).contains(&seconds) {
        let text = format!(
            "at LoadGen's rate the samples of the record take {time:.1} s, and it has {seconds:.1} s for its test"
        );
        found.fail(N21, &run.record_place, text);
    }
}
