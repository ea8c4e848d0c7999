//! Server at a low rate: what the network and the nodes add to the times of tokens.

use std::error::Error;

use super::runs::{self, FIRST_US, FURTHER_US, Times};
use crate::figures::spread;

const RATE: u64 = 100;
const MILLISECONDS: u64 = 4000;

/// The table.
pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let nodes = runs::nodes_on_schedule();
    let mut rounds = Vec::new();
    for run in 1..=runs {
        eprintln!("Server, {RATE} QPS, round {run} of {runs}");
        let figures = runs::over_network(&nodes, "server", RATE, MILLISECONDS)?;
        let over_network = figures.times.ok_or("LoadGen has no times of tokens")?;
        let (alone, _) = runs::alone(RATE, MILLISECONDS)?;
        rounds.push((over_network, alone));
    }
    // Less the schedule, where that is not gone already.
    let line = |name: &str, schedule: [u64; 2], times: &dyn Fn(&(Times, Times)) -> Times| {
        let [first, further] = schedule.map(|us| us as f64);
        let of = |pick: &dyn Fn(Times) -> f64| {
            rounds.iter().map(|round| pick(times(round))).collect::<Vec<_>>()
        };
        let percent = |us: f64| us * 100.0 / FURTHER_US as f64;
        format!(
            "| {name} | {} µs | {} µs | {} % | {} % |\n",
            spread(of(&|times| times.first_p50 - first), 0),
            spread(of(&|times| times.first_p99 - first), 0),
            spread(of(&|times| percent(times.further_p50 - further)), 2),
            spread(of(&|times| percent(times.further_p99 - further)), 2),
        )
    };
    let difference = |(over_network, alone): &(Times, Times)| Times {
        first_p50: over_network.first_p50 - alone.first_p50,
        first_p99: over_network.first_p99 - alone.first_p99,
        further_p50: over_network.further_p50 - alone.further_p50,
        further_p99: over_network.further_p99 - alone.further_p99,
    };
    let schedule = [FIRST_US, FURTHER_US];
    Ok([
        format!(
            "| Server, {RATE} QPS, beyond the schedule | first token (TTFT), p50 | p99 | each further (TPOT), p50 | p99 \
             |\n|---|---|---|---|---|\n"
        ),
        line("two nodes", schedule, &|(over_network, _)| *over_network),
        line("LoadGen alone, a system on schedule in its process", schedule, &|(_, alone)| *alone),
        line("**added by the network and the nodes**", [0, 0], &difference),
    ]
    .concat())
}
