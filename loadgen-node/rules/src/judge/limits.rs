//! Limits of LoadGen's settings in a performance run, for N2 and N32 (rules, sections 3 and 4.1.1).

use crate::{
    Scenario,
    book::{Benchmark, Round, Table},
};

/// Factor by which LoadGen's Offline query has more samples than the expected rate gives in the
/// minimum duration.
pub const OFFLINE_SLACK: f64 = 1.1;

/// Returns the reason why a setting would end a run too early; 0 sets no end.
pub(crate) fn check_early_end(setting: &str, value: u64, min_duration_ms: u64) -> Option<String> {
    match setting {
        MAX_QUERIES if value != 0 => Some(format!(
            "it would end the run after {value} queries, whatever its duration; remove it"
        )),
        "max_duration_ms" if value != 0 && value < min_duration_ms => Some(format!(
            "it would end the run after {value} ms, before its minimum of {min_duration_ms} ms; remove it"
        )),
        _ => None,
    }
}

/// Setting that ends a run after a number of queries.
pub(crate) const MAX_QUERIES: &str = "max_query_count";

/// Settings that [`check_early_end`] judges.
pub(crate) const END_SETTINGS: [&str; 2] = [MAX_QUERIES, "max_duration_ms"];

/// Name of the setting that makes LoadGen issue all queries together that are due. Neither the
/// rules nor the official checkers restrict it, and accepted results of the Network division in
/// round v3.0 used it.
pub(crate) const COALESCE: &str = "server_coalesce_queries";

/// Text of the note that a run had [`COALESCE`] on.
pub(crate) const COALESCED: &str =
    "it is on: LoadGen issues queries that are due together, which no rule forbids";

/// Limits of LoadGen's settings for a benchmark in a scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) min_duration_ms: u64,
    /// Minimum number of samples that LoadGen loads for a performance run.
    pub(crate) performance_samples: u64,
    /// Minimum number of samples in Offline's query; `None` for other scenarios.
    pub(crate) offline_samples: Option<u64>,
    /// Limits of Server; `None` for other scenarios.
    pub(crate) server: Option<ServerLimits>,
}

/// Limits of the Server scenario. Latencies are in milliseconds; `None` is no limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerLimits {
    /// Minimum share of the queries that meet the latency bound.
    pub(crate) percentile: f64,
    pub(crate) latency_ms: Option<f64>,
    /// Maximum bound for the first token.
    pub(crate) first_token_ms: Option<f64>,
    /// Maximum bound for each further token.
    pub(crate) further_token_ms: Option<f64>,
}

impl Limits {
    /// Returns the limits of a round, or the strictest of all rounds if the round is unknown.
    pub(crate) fn of(
        table: &Table,
        round: Option<&Round>,
        benchmark: &Benchmark,
        scenario: Option<Scenario>,
    ) -> Self {
        let strictest = || table.rounds.iter().map(|round| round.min_duration_ms).max();
        let server = ServerLimits {
            percentile: 0.99,
            // The official checker may have a bound that the rules lack.
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
