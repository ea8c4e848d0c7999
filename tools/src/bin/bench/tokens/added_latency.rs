//! Server at a low rate: latency that the network and the nodes add to tokens.

use std::error::Error;

use super::runs::{self, BaselineSystem, FIRST_US, FURTHER_US, Times};
use crate::meter::spread;

const RATE: u64 = 100;
const MILLISECONDS: u64 = 4000;

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let nodes = runs::nodes_on_schedule();
    let mut rounds = Vec::new();
    for run in 1..=runs {
        eprintln!("Server, {RATE} QPS, round {run} of {runs}");
        let figures = runs::over_network(&nodes, "server", RATE, MILLISECONDS)?;
        let over_network = figures.times.ok_or("LoadGen reported no token latencies")?;
        let (alone, _) = runs::alone(BaselineSystem::InProcess, RATE, MILLISECONDS)?;
        let (sockets, _) = runs::alone(BaselineSystem::BehindSockets, RATE, MILLISECONDS)?;
        rounds.push([over_network, sockets, alone]);
    }
    // Latency in addition to the schedule. With a `schedule` of zeros, it was already subtracted.
    let line = |name: &str, schedule: [u64; 2], times: &dyn Fn(&[Times; 3]) -> Times| {
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
    let beyond_alone = |times: Times, alone: Times| Times {
        first_p50: times.first_p50 - alone.first_p50,
        first_p99: times.first_p99 - alone.first_p99,
        further_p50: times.further_p50 - alone.further_p50,
        further_p99: times.further_p99 - alone.further_p99,
    };
    let schedule = [FIRST_US, FURTHER_US];
    Ok([
        format!(
            "| Server, {RATE} QPS, beyond the schedule | first token (TTFT), p50 | p99 | each further (TPOT), p50 | p99 \
             |\n|---|---|---|---|---|\n"
        ),
        line("two nodes", schedule, &|[nodes, _, _]| *nodes),
        line("a system on schedule behind plain sockets", schedule, &|[_, sockets, _]| *sockets),
        line("LoadGen alone, a system on schedule in its process", schedule, &|[_, _, alone]| *alone),
        line("added by plain sockets", [0, 0], &|[_, sockets, alone]| beyond_alone(*sockets, *alone)),
        line("**added by the network and the nodes**", [0, 0], &|[nodes, _, alone]| {
            beyond_alone(*nodes, *alone)
        }),
    ]
    .concat())
}
