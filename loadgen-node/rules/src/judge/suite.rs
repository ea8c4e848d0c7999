//! N1: the datacenter suite only (rules, section 6.2).

use crate::book::{Benchmark, Round, Suite, Table};

/// Why the benchmark of that name is none of the Network division.
pub(crate) fn outside(table: &Table, name: &str) -> Option<String> {
    let what = match table.find(name).map(|benchmark| benchmark.suite) {
        Some(Suite::Datacenter) => return None,
        Some(Suite::Edge) => "belongs to the edge suite only",
        Some(Suite::Retired) => "is no benchmark any more",
        None => return Some(table.refusal(name).unwrap_or_else(|| unknown(table, name))),
    };
    Some(format!("{name} {what}; the Network division has {}", datacenter(table, |_| true)))
}

/// Why a benchmark of the datacenter suite is none of a round.
pub(crate) fn outside_round(benchmark: &Benchmark, round: &Round) -> Option<String> {
    let Benchmark { name, rounds, suite, .. } = benchmark;
    (*suite == Suite::Datacenter && !rounds.contains(&round.name)).then(|| {
        let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
        format!("{name} is no benchmark of round {}, but of {}", round.name, rounds.join(", "))
    })
}

fn unknown(table: &Table, name: &str) -> String {
    let alike = |other: &str| {
        let family = name.split('-').next().unwrap_or(name);
        !family.is_empty() && other.starts_with(family)
    };
    let names = match datacenter(table, alike) {
        alike if !alike.is_empty() => alike,
        _ => datacenter(table, |_| true),
    };
    format!("there is no benchmark `{name}`; choose one of {names}")
}

/// Names of the datacenter suite that a test holds for.
fn datacenter(table: &Table, holds: impl Fn(&str) -> bool) -> String {
    let names = table.benchmarks.iter().filter(|benchmark| benchmark.suite == Suite::Datacenter);
    let names = names.map(|benchmark| benchmark.name.as_str()).filter(|name| holds(name));
    names.collect::<Vec<_>>().join(", ")
}
