//! N2 and N32: what the rules ask of LoadGen's settings in a performance run (rules, sections 3 and 4.1.1).

use crate::{
    Scenario,
    book::{Benchmark, Round, Table},
};

/// LoadGen asks for a tenth more samples in Offline than the duration takes.
pub const OFFLINE_SLACK: f64 = 1.1;

/// Why a setting would end a run before it has to; 0 sets no end.
pub(crate) fn early_end(setting: &str, value: u64, min_duration_ms: u64) -> Option<String> {
    match setting {
        MAX_QUERIES if value != 0 => Some(format!(
            "it would end the run after {value} queries, whatever its duration; remove it"
        )),
        "max_duration_ms" if value != 0 && value < min_duration_ms => Some(format!(
            "it would end the run after {value} ms, before the {min_duration_ms} ms that it has to take; remove it"
        )),
        _ => None,
    }
}

/// A setting that ends a run after so many queries.
pub(crate) const MAX_QUERIES: &str = "max_query_count";

/// The settings that [`early_end`] is about.
pub(crate) const ENDS: [&str; 2] = [MAX_QUERIES, "max_duration_ms"];

/// The limits for a benchmark in a scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Least duration, in milliseconds.
    pub(crate) min_duration_ms: u64,
    /// Least number of samples that are loaded.
    pub(crate) performance_samples: u64,
    /// Least number of samples in Offline's query.
    pub(crate) offline_samples: Option<u64>,
    /// Those of Server.
    pub(crate) server: Option<Server>,
}

/// The limits of the Server scenario: latencies in milliseconds, as far as there are any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Server {
    /// Least share of the queries that meet the latency bound.
    pub(crate) percentile: f64,
    /// Greatest latency bound.
    pub(crate) latency_ms: Option<f64>,
    /// Greatest bound for the first token.
    pub(crate) first_token_ms: Option<f64>,
    /// Greatest bound for each further token.
    pub(crate) further_token_ms: Option<f64>,
}

impl Limits {
    /// Those of the round; of all rounds where it is not known.
    pub(crate) fn of(
        table: &Table,
        round: Option<&Round>,
        benchmark: &Benchmark,
        scenario: Option<Scenario>,
    ) -> Self {
        let strictest = || table.rounds.iter().map(|round| round.min_duration_ms).max();
        let server = Server {
            percentile: 0.99,
            // Where the rules say nothing, the official checker may.
            latency_ms: benchmark.server_latency_ms.or(benchmark.checker("server_latency_ms")),
            first_token_ms: benchmark.ttft_ms,
            further_token_ms: benchmark.tpot_ms,
        };
        Self {
            min_duration_ms: round
                .map(|round| round.min_duration_ms)
                .or_else(strictest)
                .filter(|_| !benchmark.no_min_duration)
                .unwrap_or(0),
            performance_samples: benchmark.qsl_size,
            offline_samples: (scenario == Some(Scenario::Offline))
                .then_some(benchmark.offline_samples),
            server: (scenario == Some(Scenario::Server)).then_some(server),
        }
    }
}
