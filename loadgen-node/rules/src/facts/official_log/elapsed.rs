//! How long a performance test took, as LoadGen's detail log has it in several places.

use super::{DetailLog, moment::of_mark};
use crate::Scenario;

/// Maximum by which a clock around a test may exceed the test, as a share and in seconds: a run loads samples and writes logs, too.
pub(crate) const AROUND: f64 = 0.05;
pub(crate) const AROUND_SECONDS: f64 = 60.0;

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

/// From LoadGen's mark for power meters at the start of the test to that at its last response, in seconds; `None` where a mark is not
/// a date and time. The error names the mark that is missing.
pub(crate) fn between_power_marks(log: &DetailLog) -> Result<Option<f64>, String> {
    let mark = |key: &str| -> Result<Option<f64>, String> {
        let text = log.text(key).ok_or_else(|| format!("the detail log has no {key}"))?;
        Ok(of_mark(text))
    };
    let (end, begin) = (mark("power_end")?, mark("power_begin")?);
    Ok(end.zip(begin).map(|(end, begin)| end - begin))
}
