//! What LoadGen v5.0 issues with its mlperf.conf and no other settings than the rate (`test_settings_internal.cc`,
//! `GenerateQueries` in `loadgen.cc`).

use crate::{Scenario, book::Benchmark, judge::limits::OFFLINE_SLACK};

/// With equal issue SingleStream has to issue twice what is expected, since most samples may be faster than the 90th
/// percentile.
const EQUAL_ISSUE_SLACK: f64 = 2.0;

/// Queries and samples of a performance run of that least duration at a rate in samples per second; in Server and the streams
/// about so many.
pub(super) fn issued(
    benchmark: &Benchmark,
    scenario: Scenario,
    rate: f64,
    seconds: f64,
) -> (u64, u64) {
    let samples_per_query = if scenario == Scenario::MultiStream { 8 } else { 1 };
    let in_time = |slack: f64| (slack * seconds * rate / samples_per_query as f64) as u64;
    let pass = benchmark.qsl_size;
    // With equal issue, whole passes over the samples that are loaded.
    let passes = |count: u64| {
        if benchmark.equal_issue { count.div_ceil(pass).saturating_mul(pass) } else { count }
    };
    let queries = match scenario {
        Scenario::Offline => {
            let samples = in_time(OFFLINE_SLACK).max(benchmark.offline_samples).max(1);
            return (1, passes(samples));
        }
        Scenario::SingleStream if benchmark.equal_issue => {
            // Another pass where they are whole passes already.
            passes(in_time(EQUAL_ISSUE_SLACK).max(MIN_QUERY_COUNT).saturating_add(1))
        }
        Scenario::Server | Scenario::SingleStream => passes(in_time(1.0).max(MIN_QUERY_COUNT)),
        Scenario::MultiStream => passes(in_time(1.0).max(MULTI_STREAM_QUERIES)),
    };
    (queries, queries.saturating_mul(samples_per_query))
}

/// LoadGen's `min_query_count`; a compliance test with few samples (TEST06) has as many.
pub(super) const MIN_QUERY_COUNT: u64 = 100;

/// That of MultiStream in mlperf.conf.
const MULTI_STREAM_QUERIES: u64 = 662;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Table;

    #[test]
    fn as_computed_by_hand_from_loadgens_sources() {
        use Scenario::{MultiStream, Offline, Server, SingleStream};
        for (benchmark, scenario, rate, seconds, want) in [
            // 1.1 x 600 x 1000; the least number of samples of mlperf.conf where that is more.
            ("resnet50", Offline, 1000.0, 600.0, (1, 660_000)),
            ("resnet50", Offline, 10.0, 600.0, (1, 24_576)),
            ("resnet50", Offline, 1000.0, 60.0, (1, 66_000)),
            // 1.1 x 600 x 50 = 33,000: two passes over 24,576.
            ("llama2-70b-99", Offline, 50.0, 600.0, (1, 49_152)),
            ("llama2-70b-99", Offline, 1.0, 600.0, (1, 24_576)),
            // 660 of 43: 15.3 passes; 43 exactly is one.
            ("3d-unet-99", Offline, 1.0, 600.0, (1, 688)),
            ("3d-unet-99", Offline, 0.01, 600.0, (1, 43)),
            ("resnet50", Server, 1000.0, 600.0, (600_000, 600_000)),
            ("resnet50", Server, 0.1, 600.0, (100, 100)),
            // 30,000 queries: two passes.
            ("llama2-70b-99", Server, 50.0, 600.0, (49_152, 49_152)),
            ("resnet50", SingleStream, 10.0, 600.0, (6000, 6000)),
            // 2 x 600 x 0.215 = 258, six passes of 43, and another.
            ("3d-unet-99", SingleStream, 0.215, 600.0, (301, 301)),
            ("resnet50", MultiStream, 8.0, 600.0, (662, 5296)),
        ] {
            let benchmark = Table::builtin().unwrap().find(benchmark).unwrap();
            let found = issued(benchmark, scenario, rate, seconds);
            assert_eq!(found, want, "{} {scenario} {rate}", benchmark.name);
        }
    }
}
