//! Measurement of a matrix.

use std::collections::BTreeMap;

use netdiv_contract::v1::MeasureResponse;
use netdiv_node_common::sanitise::sanitise;
use netdiv_qdl::{NodeInfo, Settings};
use tracing::info;

use super::{
    calls::{self, PairIndexes, PairReply, failure_reason, is_refusal},
    figures::{Host, Matrix, Pair},
    slow::find_slow,
};
use crate::{
    RunError,
    fabric::{
        bandwidth::bandwidth,
        figures::{Bandwidth, Direction, Shape, median},
        progress,
        watch::Times,
    },
};

/// Rate of a pair in one round, in bytes per second, and the share of the window in which its
/// busiest I/O thread was busy, if known. The error is the reason why there is no rate.
type RateOutcome = Result<(f64, Option<f64>), String>;

/// Pairs of nodes that can connect to each other.
#[derive(Default)]
pub(crate) struct ConnectedPairs {
    schedule: Vec<Vec<PairIndexes>>,
    /// Reasons why the other pairs cannot connect.
    outcomes: Outcomes,
}

/// Measures `rounds` times: each direction with all nodes at once, each direction with each node
/// alone, and from node to node. Records failures and continues. `known` is the rate of the slowest
/// node from an earlier measurement, in bytes per second.
pub(crate) fn matrix(
    settings: &Settings,
    nodes: &[NodeInfo],
    bytes: usize,
    times: Times,
    rounds: usize,
    known: f64,
    connected: ConnectedPairs,
) -> Result<Matrix, RunError> {
    let ConnectedPairs { schedule, mut outcomes } = connected;
    let (mut at_once, mut failures) = ([Vec::new(), Vec::new()], Vec::new());
    for round in 1..=rounds {
        let which = format!("round {round} of {rounds}");
        if !progress::show_part(format!("{which}, all at once")) {
            info!("{which}: measuring with all nodes at once");
        }
        for (direction, cells) in ONE_WAY.into_iter().zip(&mut at_once) {
            match bandwidth(settings, bytes, direction, times, known) {
                Ok(cell) => {
                    progress::cell(&format!("{which}, all at once, "), &cell);
                    cells.push(cell);
                }
                Err(error) => {
                    failures.push(format!("{direction}, all at once, round {round}: {error}"))
                }
            }
        }
        for node in nodes {
            let name = &node.description.node_name;
            let alone = Settings { nodes: vec![node.address.clone()], ..settings.clone() };
            for direction in ONE_WAY {
                let which = format!("{which}, {name} alone, ");
                progress::begin_cell(&which, bytes, direction);
                let cell = bandwidth(&alone, bytes, direction, times, known);
                if let Ok(cell) = &cell {
                    progress::cell(&which, cell);
                }
                let outcome = cell.map(|cell| (one_way(&cell), cell.busiest_io_thread));
                let (here, there) = (Host::Here, Host::Node(name.clone()));
                let (from, to) = match direction {
                    Direction::FromNodes => (there, here),
                    Direction::ToNodes | Direction::Both => (here, there),
                };
                outcomes.add(from, to, outcome.map_err(|error| error.to_string()));
            }
        }
        progress::show_part(format!("{which}, from node to node"));
        let (mut step, steps) = (0, schedule.len());
        let tell = |answers: &[PairReply]| {
            step += 1;
            let measured = answers.iter().filter_map(|(_, answer)| answer.as_ref().ok());
            let rates = measured.filter_map(|measured| Some(rate(measured, bytes).ok()?.0));
            let which = format!("{which}, from node to node, step {step} of {steps}");
            progress::step(&which, &rates.collect::<Vec<_>>());
        };
        let answers = calls::measure(settings, nodes, bytes, Some(times), &schedule, tell)?;
        for ((from, to), answer) in answers {
            let outcome = answer.map_err(|status| failure_reason(&status));
            let outcome = outcome.and_then(|measured| rate(&measured, bytes));
            outcomes.add(host(nodes, from), host(nodes, to), outcome);
        }
    }
    let (pairs, of_pairs) = outcomes.pairs();
    failures.extend(of_pairs);
    let [fan_out, incast] = at_once.map(Bandwidth::median);
    Ok(Matrix { message_bytes: bytes, fan_out, incast, slow: find_slow(&pairs), pairs, failures })
}

const ONE_WAY: [Direction; 2] = [Direction::ToNodes, Direction::FromNodes];

/// Returns the number of measurements in one round, which run one after the other.
pub(crate) fn steps(nodes: usize) -> usize {
    2 + 2 * nodes + calls::schedule(nodes).len()
}

/// Connects all nodes to each other. Fails if a node was not started for this measurement.
pub(crate) fn connect_all(
    settings: &Settings,
    nodes: &[NodeInfo],
    bytes: usize,
) -> Result<ConnectedPairs, RunError> {
    let mut schedule = calls::schedule(nodes.len());
    let mut outcomes = Outcomes::default();
    let answers = calls::measure(settings, nodes, bytes, None, &schedule, |_| {})?;
    for ((from, to), answer) in answers {
        let (sender, receiver) = (host(nodes, from), host(nodes, to));
        match answer {
            Err(status) if is_refusal(&status) => {
                return Err(RunError::Usage(format!("node {sender}: {}", failure_reason(&status))));
            }
            Err(status) => {
                outcomes.add(sender, receiver, Err(failure_reason(&status)));
                schedule.iter_mut().for_each(|round| round.retain(|pair| *pair != (from, to)));
            }
            Ok(reached) if Host::Node(reached.peer_name.clone()) != receiver => {
                return Err(RunError::Usage(format!(
                    "address {} leads node {sender} to the node {}, but this machine to {receiver}; name the nodes by addresses that \
                     are the same on all machines",
                    nodes[to].address,
                    sanitise(&reached.peer_name)
                )));
            }
            Ok(_) => {}
        }
    }
    Ok(ConnectedPairs { schedule, outcomes })
}

fn host(nodes: &[NodeInfo], number: usize) -> Host {
    nodes.get(number).map_or(Host::Here, |node| Host::Node(node.description.node_name.clone()))
}

fn one_way(cell: &Bandwidth) -> f64 {
    match cell.direction {
        Direction::ToNodes => cell.total.bytes_per_second_to_nodes,
        Direction::FromNodes | Direction::Both => cell.total.bytes_per_second_from_nodes,
    }
}

fn rate(measured: &MeasureResponse, bytes: usize) -> RateOutcome {
    if measured.messages == 0 || measured.window_ns == 0 {
        return Err("no message arrived in time; raise --duration, or lower --sizes".into());
    }
    let bytes = Shape::of(Direction::ToNodes, bytes).sample_bytes();
    let seconds = measured.window_ns as f64 / 1e9;
    Ok((measured.messages as f64 * bytes as f64 / seconds, measured.busy))
}

/// Outcomes of each pair, one per round.
#[derive(Default)]
struct Outcomes(BTreeMap<(Host, Host), Vec<RateOutcome>>);

impl Outcomes {
    fn add(&mut self, from: Host, to: Host, outcome: RateOutcome) {
        self.0.entry((from, to)).or_default().push(outcome);
    }

    /// Returns the pairs, and descriptions of the failures.
    fn pairs(self) -> (Vec<Pair>, Vec<String>) {
        let mut failures = Vec::new();
        let pair = |((from, to), outcomes): ((Host, Host), Vec<RateOutcome>)| {
            let tried = outcomes.len();
            let (measured, failed): (Vec<_>, Vec<_>) =
                outcomes.into_iter().partition(Result::is_ok);
            if let Some(Err(why)) = failed.last() {
                let rounds = match measured.len() {
                    0 => String::new(),
                    _ => format!(", in {} of {tried} rounds", failed.len()),
                };
                failures.push(format!("{from} to {to}{rounds}: {why}"));
            }
            let measured: Vec<_> = measured.into_iter().flatten().collect();
            let rounds_bytes_per_second = measured.iter().map(|(rate, _)| *rate).collect();
            let middle = median(measured, |(rate, _)| *rate);
            Pair {
                from,
                to,
                bytes_per_second: middle.map(|(rate, _)| rate),
                rounds_bytes_per_second,
                busy: middle.and_then(|(_, busy)| busy),
            }
        };
        (self.0.into_iter().map(pair).collect(), failures)
    }
}
