//! The runs of a submission, and the queries that LoadGen v5.0 issues in each with its mlperf.conf
//! and the rate as the only other setting (`test_settings_internal.cc`, `GenerateQueries` in
//! `loadgen.cc`).

use serde::Serialize;

use crate::{
    Scenario,
    book::{Benchmark, Test},
    judge::limits::OFFLINE_SLACK,
};

/// Minimum duration of a performance run, in seconds (rules, section 3).
pub(super) const SECONDS: f64 = 600.0;

/// Minimum duration of the run with digests, in seconds (`min_duration_ms` in docs/SUBMISSION.md),
/// and minimum number of its samples.
const DIGESTS_SECONDS: f64 = 60.0;
const DIGESTS_SAMPLES: u64 = 1000;

/// A run of a submission.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedRun {
    /// Scenario of the run.
    pub scenario: Scenario,
    /// Purpose of the run: performance, accuracy, digests, or the name of a compliance test.
    pub purpose: String,
    /// Number of samples that LoadGen issues.
    pub samples: u64,
    /// Duration of the run, in seconds.
    pub seconds: f64,
}

/// Returns the runs that the rules require, all at one rate in samples per second.
pub(super) fn runs(benchmark: &Benchmark, rate: f64) -> Vec<PlannedRun> {
    benchmark
        .scenarios
        .iter()
        .flat_map(|scenario| scenario_runs(benchmark, *scenario, rate))
        .collect()
}

fn scenario_runs(benchmark: &Benchmark, scenario: Scenario, rate: f64) -> Vec<PlannedRun> {
    let of = |seconds: f64| issued(benchmark, scenario, rate, seconds).1;
    let (performance, data_set) = (of(SECONDS), benchmark.dataset_samples);
    let digests = of(DIGESTS_SECONDS).max(data_set.min(DIGESTS_SAMPLES));
    let tests = benchmark.compliance.iter().map(|test| {
        // The audit.config of some tests sets the number of queries, with one sample each, and no
        // minimum duration.
        let own = benchmark.test_samples(*test);
        let own = own.or((*test == Test::Test06).then_some(MIN_QUERY_COUNT));
        let samples = own.unwrap_or(performance);
        (test.name(), samples)
    });
    [("performance", performance), ("accuracy", data_set), ("digests", digests)]
        .into_iter()
        .chain(tests)
        .map(|(purpose, samples)| PlannedRun {
            scenario,
            purpose: purpose.into(),
            samples,
            seconds: samples as f64 / rate,
        })
        .collect()
}

/// Ratio of the queries that SingleStream issues with equal issue to the expected queries: it
/// issues twice as many, because most samples may be faster than the 90th percentile. With equal
/// issue, LoadGen issues every sample equally often.
const EQUAL_ISSUE_SLACK: f64 = 2.0;

/// Settings of LoadGen that decide how many queries a performance run has at the minimum.
#[derive(Debug, Clone, Copy)]
pub struct QueryCount {
    /// Scenario of the run.
    pub scenario: Scenario,
    /// Expected rate, in queries per second; in Offline in samples per second.
    pub rate: f64,
    /// Minimum duration, in seconds.
    pub seconds: f64,
    /// LoadGen's `min_query_count`; in Offline a number of samples.
    pub minimum: u64,
    /// Number of loaded samples, if LoadGen issues whole passes over them (equal issue).
    pub pass: Option<u64>,
}

impl QueryCount {
    /// Returns the minimum number of queries of a run, however long it lasts; in Offline, the
    /// number of samples in its query.
    pub fn required(&self) -> u64 {
        let with_slack = |slack| self.expected(slack).max(self.minimum).max(1);
        let passes =
            |pass: u64, count: u64| count.div_ceil(pass.max(1)).saturating_mul(pass.max(1));
        match (self.scenario, self.pass) {
            (Scenario::Offline, pass) => passes(pass.unwrap_or(1), with_slack(OFFLINE_SLACK)),
            (Scenario::Server, Some(pass)) => passes(pass, with_slack(1.0)),
            (Scenario::SingleStream, Some(pass)) => {
                // LoadGen issues one more pass if the queries are whole passes already.
                passes(pass, with_slack(EQUAL_ISSUE_SLACK).saturating_add(1))
            }
            (Scenario::Server | Scenario::SingleStream | Scenario::MultiStream, _) => self.minimum,
        }
    }

    /// Returns the number of queries in the minimum duration, times `slack`.
    fn expected(&self, slack: f64) -> u64 {
        // The conversion saturates.
        (slack * self.seconds * self.rate) as u64
    }
}

/// Returns the number of queries and the number of samples in a performance run with a minimum
/// duration in seconds, at a rate in samples per second. The numbers are estimates in Server and
/// the streams.
pub(super) fn issued(
    benchmark: &Benchmark,
    scenario: Scenario,
    rate: f64,
    seconds: f64,
) -> (u64, u64) {
    let samples_per_query = if scenario == Scenario::MultiStream { 8 } else { 1 };
    let count = QueryCount {
        scenario,
        rate: rate / samples_per_query as f64,
        seconds,
        minimum: match scenario {
            Scenario::Offline => benchmark.offline_samples,
            Scenario::MultiStream => MULTI_STREAM_QUERIES,
            Scenario::Server | Scenario::SingleStream => MIN_QUERY_COUNT,
        },
        pass: benchmark.equal_issue.then_some(benchmark.qsl_size),
    };
    if scenario == Scenario::Offline {
        return (1, count.required());
    }
    let queries = count.required().max(count.expected(1.0));
    (queries, queries.saturating_mul(samples_per_query))
}

/// LoadGen's `min_query_count`, and the number of queries in the compliance test TEST06.
pub(super) const MIN_QUERY_COUNT: u64 = 100;

/// `min_query_count` of MultiStream in mlperf.conf.
const MULTI_STREAM_QUERIES: u64 = 662;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Table;

    fn of(benchmark: &str, rate: f64) -> Vec<(Scenario, String, u64, f64)> {
        let runs = runs(Table::builtin().unwrap().find(benchmark).unwrap(), rate).into_iter();
        runs.map(|run| (run.scenario, run.purpose, run.samples, run.seconds)).collect()
    }

    #[test]
    fn every_scenario_has_all_its_runs() {
        use Scenario::{Offline, Server};
        let run = |scenario, purpose: &str, samples: u64, seconds| {
            (scenario, purpose.to_owned(), samples, seconds)
        };
        let want = [
            run(Server, "performance", 600_000, 600.0),
            run(Server, "accuracy", 50_000, 50.0),
            run(Server, "digests", 60_000, 60.0),
            run(Server, "TEST01", 600_000, 600.0),
            run(Server, "TEST04", 600_000, 600.0),
            run(Offline, "performance", 660_000, 660.0),
            run(Offline, "accuracy", 50_000, 50.0),
            run(Offline, "digests", 66_000, 66.0),
            run(Offline, "TEST01", 660_000, 660.0),
            run(Offline, "TEST04", 660_000, 660.0),
        ];
        assert_eq!(of("resnet50", 1000.0), want);
    }

    #[test]
    fn a_slow_model_takes_as_long_as_its_data_set() {
        // One pass over 24,576 samples at 2 per second, wherever whole passes are required.
        let pass = 12_288.0;
        let seconds: Vec<_> = of("llama2-70b-99", 2.0).into_iter().map(|run| run.3).collect();
        assert_eq!(seconds, [pass, pass, pass, 50.0, pass, pass, pass, 50.0]);
    }

    #[test]
    fn as_computed_by_hand_from_loadgens_sources() {
        use Scenario::{MultiStream, Offline, Server, SingleStream};
        for (benchmark, scenario, rate, seconds, want) in [
            // 1.1 x 600 x 1000, or the minimum number of samples of mlperf.conf if that is more.
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
