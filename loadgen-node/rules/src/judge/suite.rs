//! Checks whether a benchmark belongs to the datacenter suite and to a round, for N1 (rules,
//! section 6.2).

use crate::book::{Benchmark, Round, Suite, Table};

/// Returns the reason why the datacenter suite does not have the benchmark `name`.
pub fn check_suite(table: &Table, name: &str) -> Option<String> {
    let what = match table.find(name).map(|benchmark| benchmark.suite) {
        Some(Suite::Datacenter) => return None,
        Some(Suite::Edge) => {
            "belongs to the edge suite only, which netdiv does not support".to_owned()
        }
        Some(Suite::Retired) => "is no longer a benchmark".into(),
        None => format!("is not a benchmark{}", table.meant(name)),
    };
    let names = table.benchmarks.iter().filter(|benchmark| benchmark.suite == Suite::Datacenter);
    let names: Vec<_> = names.map(|benchmark| benchmark.name.as_str()).collect();
    Some(format!("{name} {what}; the datacenter suite has {}", names.join(", ")))
}

/// Returns the reason why a benchmark of the datacenter suite does not belong to a round.
pub(crate) fn check_benchmark_round(benchmark: &Benchmark, round: &Round) -> Option<String> {
    let Benchmark { name, rounds, suite, .. } = benchmark;
    (*suite == Suite::Datacenter && !rounds.contains(&round.name)).then(|| {
        let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
        format!("{name} is not a benchmark of round {}, but of {}", round.name, rounds.join(", "))
    })
}
