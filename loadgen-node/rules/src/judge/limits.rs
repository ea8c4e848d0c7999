//! Limits of LoadGen's settings in a performance run, for N2 and N32 (rules, sections 3 and 4.1.1).

use crate::book::{Benchmark, Round, Table};

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

/// Text of the note about a maximum length of outputs that submitters use, and the rules do not
/// state.
pub(crate) const USUAL_LIMIT: &str = "published results have this limit";

/// Minimum share of Server's queries that meet the latency bound.
pub(crate) const SERVER_PERCENTILE: f64 = 0.99;

/// Returns the minimum duration of a performance run in a round, or the longest minimum of all
/// rounds if the round is unknown.
pub(crate) fn min_duration_ms(table: &Table, round: Option<&Round>, benchmark: &Benchmark) -> u64 {
    let longest = || table.rounds.iter().map(|round| round.min_duration_ms).max();
    let least = round.map(|round| round.min_duration_ms).or_else(longest);
    least.filter(|_| !benchmark.no_min_duration).unwrap_or(0)
}
