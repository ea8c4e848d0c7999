//! Duration of a performance test, from several entries of LoadGen's detail log.

use super::DetailLog;
use crate::Scenario;

/// Maximum by which the duration that a clock around a test measures may exceed the test's own
/// duration: as a share, and in seconds. A run also loads samples and writes logs.
pub(crate) const CLOCK_MARGIN_SHARE: f64 = 0.05;
pub(crate) const AROUND_SECONDS: f64 = 60.0;

/// Returns the time that LoadGen compares with the minimum duration, in seconds: in Offline the
/// maximum latency, in Server the scheduled time of the last query, and in SingleStream the time of
/// all queries but the last. Returns `None` in MultiStream. LoadGen logs rates with six digits.
pub(crate) fn duration(scenario: Scenario, log: &DetailLog) -> Option<f64> {
    match scenario {
        Scenario::Offline => greatest_latency(log),
        Scenario::Server => until_last("result_scheduled_samples_per_sec", log),
        Scenario::SingleStream => until_last("result_qps_with_loadgen_overhead", log),
        Scenario::MultiStream => None,
    }
}

/// Returns the time of all queries but the last, in seconds, computed from a rate: LoadGen computes
/// its rates over this time. `rate` is the key of the rate.
fn until_last(rate: &str, log: &DetailLog) -> Option<f64> {
    let rate = log.number(rate).filter(|rate| *rate > 0.0)?;
    Some((log.number("result_query_count")? - 1.0) / rate)
}

/// Returns the maximum latency of a sample, in seconds.
pub(crate) fn greatest_latency(log: &DetailLog) -> Option<f64> {
    log.number("result_max_latency_ns").map(|ns| ns / 1e9)
}
