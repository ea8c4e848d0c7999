//! What is measured, in which order.

use std::{
    thread,
    time::{Duration, Instant, SystemTime},
};

use netdiv_contract::limits::MEASURE_CONNECTIONS;
use netdiv_evidence::System;
use netdiv_qdl::{NodeInfo, Settings};
use netdiv_rules::book::Need;
use tracing::{info, warn};

use super::{
    bandwidth::bandwidth,
    benchmark::benchmarks,
    choice::{self, Tried},
    client,
    figures::{Bandwidth, Direction, Interval, OpenLoop, RoundTrip, Shape},
    matrix::measure::{self, matrix},
    open_loop::open_loop,
    report::Report,
    round_trip::round_trip,
    route,
    watch::Times,
};
use crate::RunError;

/// Longest message whose round trip is timed, in bytes: beyond it the bandwidth says the same.
const LONGEST_ROUND_TRIP: usize = 1 << 20;

/// A message that takes this many times as long as a measurement is left out.
const TOO_LONG: f64 = 2.0;

/// Least size, in bytes, at which the number of connections is chosen: shorter messages are limited by their number.
const CHOICE_SIZE: usize = 256 << 10;

/// At most so long is a measurement with which the number of connections is chosen.
const CHOICE_TIME: Duration = Duration::from_secs(2);

/// At most so long is a measurement that only says how much may be in flight.
const LEARNING_TIME: Duration = Duration::from_millis(500);

/// Seconds between two lines about a soak.
const SOAK_LINE: usize = 10;

/// The form of the report.
const FORM: u32 = 1;

/// What to measure, and with what.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    /// Of nodes without TLS, which are measured in turn with the others.
    pub(crate) plaintext: Option<Settings>,
    /// In ascending order.
    pub(crate) sizes: Vec<usize>,
    pub(crate) times: Times,
    pub(crate) rounds: usize,
    /// Whether as many connections and I/O threads are taken as make it faster.
    pub(crate) chooses: bool,
    pub(crate) kind: Kind,
}

/// What kind of measurement it is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Round trips, and the bandwidth of all sizes and directions; then what benchmarks need of it.
    Sweep { needs: Vec<Need>, targets: Vec<(String, f64)> },
    /// The longest of the sizes between all pairs of hosts.
    Matrix,
    /// The longest of the sizes both ways, for a long time.
    Soak,
    /// Messages at a rate, over all nodes together: of each shape, which may be a benchmark's.
    OpenLoop { rate: f64, shapes: Vec<(Option<String>, Shape)> },
}

impl Plan {
    /// Measures all of it.
    pub(crate) fn run(&self) -> Result<Report, RunError> {
        let (started, begin) = (SystemTime::now(), Instant::now());
        let mut settings = self.settings.clone();
        let nodes = client::nodes(&settings, self.longest())?;
        info!(about = humantime::format_duration(self.about()).to_string(), "this takes some time");
        let tried = if self.chooses { self.choose(&mut settings)? } else { Vec::new() };
        let way_out = &settings.network.options.way_out;
        let interface = way_out.interface.as_deref();
        let mut report = Report {
            form: FORM,
            version: env!("CARGO_PKG_VERSION").into(),
            started: humantime::format_rfc3339_millis(started).to_string(),
            host: System::default().machine().host_name,
            transport: settings.network.options.transport,
            tls: settings.network.options.tls.is_some(),
            connections_per_node: settings.connections_per_node,
            streams_per_connection: settings.streams_per_connection,
            io_threads: settings.io_threads,
            interface: way_out.interface.clone(),
            dscp: way_out.dscp,
            congestion_control: way_out.congestion_control.clone(),
            tried,
            warm_up_ms: self.times.warm_up.as_millis() as u64,
            duration_ms: self.times.duration.as_millis() as u64,
            rounds: self.rounds,
            routes: nodes.iter().map(|node| route::to(node, interface)).collect(),
            ..Report::default()
        };
        match &self.kind {
            Kind::Sweep { needs, targets } => {
                report.round_trips = self.round_trips(&settings, &nodes)?;
                let mut sides = vec![settings.clone()];
                if let Some(plaintext) = &self.plaintext {
                    let plaintext = Settings {
                        connections_per_node: settings.connections_per_node,
                        io_threads: settings.io_threads,
                        ..plaintext.clone()
                    };
                    let nodes = client::nodes(&plaintext, self.longest())?;
                    report.plaintext.round_trips = self.round_trips(&plaintext, &nodes)?;
                    sides.push(plaintext);
                }
                let mut cells = self.sweep(&sides)?.into_iter();
                report.bandwidth = cells.next().unwrap_or_default();
                report.plaintext.bandwidth = cells.next().unwrap_or_default();
                report.benchmarks = benchmarks(needs, &report.bandwidth, targets);
            }
            Kind::Matrix => {
                let size = self.longest();
                let known = learn(&settings, size, self.times)?;
                let matrix = matrix(&settings, &nodes, size, self.times, self.rounds, known)?;
                report.matrix = Some(matrix);
            }
            Kind::Soak => report.soak = Some(self.soak(&settings)?),
            Kind::OpenLoop { rate, shapes } => {
                for (benchmark, shape) in shapes {
                    report.open_loop.push(self.paced(
                        &settings,
                        *shape,
                        benchmark.clone(),
                        *rate,
                    )?);
                }
            }
        }
        report.seconds = begin.elapsed().as_secs_f64();
        Ok(report)
    }

    fn longest(&self) -> usize {
        let sizes = self.sizes.iter().copied();
        match &self.kind {
            Kind::OpenLoop { shapes, .. } => shapes.iter().map(|(_, shape)| shape.to_node).max(),
            Kind::Sweep { .. } | Kind::Matrix | Kind::Soak => sizes.max(),
        }
        .unwrap_or_default()
    }

    fn round_trip_sizes(&self) -> impl Iterator<Item = &usize> {
        self.sizes.iter().filter(|size| **size <= LONGEST_ROUND_TRIP)
    }

    fn round_trips(
        &self,
        settings: &Settings,
        nodes: &[NodeInfo],
    ) -> Result<Vec<RoundTrip>, RunError> {
        let mut trips = Vec::new();
        for size in self.round_trip_sizes() {
            for node in nodes {
                let name = &node.description.node_name;
                info!(node = name, bytes = size, "timing round trips");
                trips.push(round_trip(settings, &node.address, *size, self.times.duration)?);
            }
        }
        Ok(trips)
    }

    /// How long all of it takes at most on a network that is not slow, without choosing connections.
    fn about(&self) -> Duration {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let Times { warm_up, duration } = self.times;
        let all = match &self.kind {
            Kind::Sweep { .. } => {
                let cells = count(self.sizes.len() * Direction::ALL.len() * self.rounds);
                let trips = count(self.round_trip_sizes().count() * self.settings.nodes.len());
                let bandwidth = warm_up.saturating_add(duration).saturating_mul(cells);
                let side = bandwidth.saturating_add(duration.saturating_mul(trips));
                side.saturating_mul(if self.plaintext.is_some() { 2 } else { 1 })
            }
            Kind::Matrix => {
                let steps = measure::steps(self.settings.nodes.len()) * self.rounds;
                warm_up.saturating_add(duration).saturating_mul(count(steps))
            }
            Kind::Soak => warm_up.saturating_add(duration),
            Kind::OpenLoop { shapes, .. } => duration.saturating_mul(count(shapes.len())),
        };
        Duration::from_secs(all.as_secs())
    }

    /// Doubles connections and I/O threads as long as that makes it faster, at the least size that is long enough (a longest
    /// message may take minutes on a slow network), and sets them.
    fn choose(&self, settings: &mut Settings) -> Result<Vec<Tried>, RunError> {
        let long = self.sizes.iter().find(|size| **size >= CHOICE_SIZE);
        let Some(size) = long.or(self.sizes.last()) else { return Ok(Vec::new()) };
        let times = Times { duration: self.times.duration.min(CHOICE_TIME), ..self.times };
        let mut cores = thread::available_parallelism().map_or(1, usize::from);
        if matches!(self.kind, Kind::Matrix) {
            cores = cores.min(MEASURE_CONNECTIONS as usize);
        }
        (settings.connections_per_node, settings.io_threads) = (1, 1);
        let (mut tried, mut known) = (Vec::<Tried>::new(), learn(settings, *size, times)?);
        while let Some(connections) = choice::next(&tried, cores) {
            info!(connections, bytes = size, "trying connections, each with an I/O thread");
            (settings.connections_per_node, settings.io_threads) = (connections, connections);
            let cell = bandwidth(settings, *size, Direction::Both, times, known, |_| {})?;
            known = known.max(cell.slowest_bytes_per_second());
            tried.push(Tried { connections, bytes_per_second: cell.bytes_per_second() });
        }
        let chosen = choice::chosen(&tried);
        (settings.connections_per_node, settings.io_threads) = (chosen, chosen);
        Ok(tried)
    }

    /// Each size in each direction, for each side in turn, round after round; gives the cells of each side. What is already known
    /// keeps a slow network from taking minutes for each.
    fn sweep(&self, sides: &[Settings]) -> Result<Vec<Vec<Bandwidth>>, RunError> {
        let mut cells: Vec<Vec<Bandwidth>> = Vec::new();
        let mut sizes = self.sizes.clone();
        // What the slowest node moves. Without it the first cell would be measured with less in flight than the next.
        let (Some(first), Some(size)) = (sides.first(), sizes.first()) else {
            return Ok(Vec::new());
        };
        let mut known = learn(first, *size, self.times)?;
        for round in 1..=self.rounds {
            let (mut next_cell, mut left_out) = (0, Vec::new());
            for size in &sizes {
                let too_long = known * TOO_LONG * self.times.duration.as_secs_f64();
                if round == 1 && known > 0.0 && *size as f64 > too_long {
                    warn!(
                        bytes = size,
                        "left out: one message would take too long; raise --duration"
                    );
                    left_out.push(*size);
                    continue;
                }
                let turns = Direction::ALL
                    .iter()
                    .flat_map(|direction| sides.iter().map(move |settings| (*direction, settings)));
                for (direction, settings) in turns {
                    let tls = settings.network.options.tls.is_some();
                    info!(round, bytes = size, %direction, tls, "measuring bandwidth");
                    let cell = bandwidth(settings, *size, direction, self.times, known, |_| {})?;
                    known = known.max(cell.slowest_bytes_per_second());
                    match cells.get_mut(next_cell) {
                        Some(rounds) => rounds.push(cell),
                        None => cells.push(vec![cell]),
                    }
                    next_cell += 1;
                }
            }
            sizes.retain(|size| !left_out.contains(size));
        }
        let mut of_side = vec![Vec::new(); sides.len()];
        for (number, rounds) in cells.into_iter().enumerate() {
            of_side[number % sides.len()].extend(Bandwidth::median(rounds));
        }
        Ok(of_side)
    }

    fn soak(&self, settings: &Settings) -> Result<Bandwidth, RunError> {
        let size = self.longest();
        info!(bytes = size, "soaking both ways");
        let seconds = std::sync::atomic::AtomicUsize::new(0);
        let tell = |interval: &Interval| {
            let second = seconds.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            if second.is_multiple_of(SOAK_LINE) {
                let rate = |bytes: f64| format!("{:.3}", bytes / 1e9);
                info!(
                    second,
                    gb_per_s_to_nodes = rate(interval.bytes_per_second_to_nodes),
                    gb_per_s_from_nodes = rate(interval.bytes_per_second_from_nodes),
                    p99_ms = interval.p99_ns.map(|ns| ns as f64 / 1e6),
                    "soaking"
                );
            }
        };
        let known = learn(settings, size, self.times)?;
        bandwidth(settings, size, Direction::Both, self.times, known, tell)
    }

    fn paced(
        &self,
        settings: &Settings,
        shape: Shape,
        benchmark: Option<String>,
        rate: f64,
    ) -> Result<OpenLoop, RunError> {
        info!(bytes = shape.sample_bytes(), answer_bytes = shape.from_node, rate, "open loop");
        open_loop(settings, shape, benchmark, rate, self.times.duration)
    }
}

/// What the slowest node moves, measured shortly: it says how much may be in flight.
fn learn(settings: &Settings, size: usize, times: Times) -> Result<f64, RunError> {
    let times = Times { duration: times.duration.min(LEARNING_TIME), ..times };
    Ok(bandwidth(settings, size, Direction::Both, times, 0.0, |_| {})?.slowest_bytes_per_second())
}
