//! All runs of a benchmark's submission, and how long they take.

use serde::Serialize;

use super::issued::{MIN_QUERY_COUNT, issued};
use crate::{
    Scenario,
    book::{Benchmark, Test},
};

/// Least duration of a performance run, in seconds (rules, section 3).
pub(super) const SECONDS: f64 = 600.0;

/// `min_duration_ms` of the run with digests in docs/SUBMISSION.md, in seconds, and what it must have been of.
const DIGESTS_SECONDS: f64 = 60.0;
const DIGESTS_SAMPLES: u64 = 1000;

/// One run of a submission.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedRun {
    /// Its scenario.
    pub scenario: Scenario,
    /// What it is for.
    pub purpose: String,
    /// Samples that LoadGen issues.
    pub samples: u64,
    /// How long they take, in seconds.
    pub seconds: f64,
}

/// The runs that the rules ask for, all at one rate in samples per second.
pub(super) fn runs(benchmark: &Benchmark, rate: f64) -> Vec<PlannedRun> {
    benchmark
        .scenarios
        .iter()
        .flat_map(|scenario| of_scenario(benchmark, *scenario, rate))
        .collect()
}

fn of_scenario(benchmark: &Benchmark, scenario: Scenario, rate: f64) -> Vec<PlannedRun> {
    let of = |seconds: f64| issued(benchmark, scenario, rate, seconds).1;
    let (performance, data_set) = (of(SECONDS), benchmark.dataset_samples);
    let digests = of(DIGESTS_SECONDS).max(data_set.min(DIGESTS_SAMPLES));
    let tests = benchmark.compliance.iter().map(|test| {
        // Its audit.config asks for so many queries of one sample, and for no duration.
        let samples = if *test == Test::Test06 { MIN_QUERY_COUNT } else { performance };
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
        // One pass over 24,576 samples at 2 a second, wherever whole passes are asked for.
        let pass = 12_288.0;
        let seconds: Vec<_> = of("llama2-70b-99", 2.0).into_iter().map(|run| run.3).collect();
        assert_eq!(seconds, [pass, pass, pass, 50.0, pass, pass, pass, 50.0]);
    }
}
