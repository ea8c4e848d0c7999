//! Plan of a measurement: its parts and their order.

use std::{
    thread,
    time::{Duration, Instant, SystemTime},
};

use netdiv_contract::limits::MEASURE_CONNECTIONS;
use netdiv_machine::evidence::System;
use netdiv_qdl::{NodeInfo, Settings};
use netdiv_rules::book;

use super::{
    bandwidth::bandwidth,
    benchmark::benchmarks,
    client::{self, round_trip},
    connection_choice::{self, ConnectionTrial},
    figures::{Bandwidth, Direction, RoundTrip, Route, Shape},
    matrix::measure::{self, ConnectedPairs, connect_all, matrix},
    open_loop::open_loop,
    progress,
    report::Report,
    watch::Times,
};
use crate::RunError;

/// Maximum size of a message whose round trip is timed, in bytes. For longer messages, the
/// bandwidth shows the same.
const LONGEST_ROUND_TRIP: usize = 1 << 20;

/// Maximum time that a message takes, as a multiple of a measurement's duration. Sizes whose
/// messages take longer are left out.
const TOO_LONG: f64 = 2.0;

/// Minimum size, in bytes, at which the number of connections is chosen. Shorter messages are
/// limited by their number.
const CHOICE_SIZE: usize = 256 << 10;

/// Maximum length of a measurement that chooses the number of connections.
const CHOICE_TIME: Duration = Duration::from_secs(2);

/// Maximum length of a measurement that only determines how much may be in flight.
const LEARNING_TIME: Duration = Duration::from_millis(500);

/// Time of a measurement besides warm-up and window, in which connections are opened and messages
/// in flight arrive.
const SETTLING: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Defaults {
    /// Message sizes in bytes, in ascending order.
    pub(crate) sizes: &'static [usize],
    pub(crate) times: Times,
    /// Time limit for the round trips of all sizes and nodes together.
    pub(crate) round_trips: Duration,
}

/// Defaults of a measurement that takes half a minute, for any number of nodes and of connections
/// to try.
pub(crate) const QUICK: Defaults = Defaults {
    sizes: &[64, 16 << 10, 1 << 20],
    times: Times { warm_up: Duration::from_millis(200), duration: Duration::from_millis(300) },
    round_trips: Duration::from_millis(1500),
};

/// Defaults of `--thorough`, whose figures vary less.
pub(crate) const THOROUGH: Defaults = Defaults {
    sizes: &[64, 16 << 10, 128 << 10, 1 << 20, 64 << 20],
    times: Times { warm_up: Duration::from_secs(1), duration: Duration::from_secs(5) },
    round_trips: Duration::MAX,
};

pub(crate) const ROUNDS: usize = 3;

/// Default size of a matrix and of a soak, in bytes.
pub(crate) const ONE_SIZE: [usize; 1] = [1 << 20];
/// Default sizes of an open loop, in bytes.
pub(crate) const OPEN_LOOP_SIZES: [usize; 3] = [64, 16 << 10, 128 << 10];

/// Plan of a measurement: its kind, its sizes and times, and its settings.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    /// Message sizes in bytes, in ascending order.
    pub(crate) sizes: Vec<usize>,
    pub(crate) times: Times,
    /// Time limit for the round trips of all sizes and nodes together.
    pub(crate) round_trips: Duration,
    pub(crate) rounds: usize,
    /// Set if `--thorough` would measure longer.
    pub(crate) is_quick: bool,
    /// Set if the number of connections and I/O threads is chosen: as many as make the measurement
    /// faster.
    pub(crate) should_choose_connections: bool,
    pub(crate) kind: MeasurementKind,
}

#[derive(Debug)]
pub(crate) enum MeasurementKind {
    /// Round trips, and the bandwidth of all sizes and directions; then the rates of benchmarks.
    Sweep { needs: Vec<book::Bandwidth>, targets: Vec<(String, f64)> },
    /// Bandwidth of the maximum size, between all pairs of hosts.
    Matrix,
    /// Bandwidth of the maximum size, both ways, for a long time.
    Soak,
    /// Messages at the rate `rate` over all nodes together, for each shape in turn. A shape that
    /// belongs to a benchmark has the benchmark's name.
    OpenLoop { rate: f64, shapes: Vec<(Option<String>, Shape)> },
}

impl Plan {
    pub(crate) fn run(&self) -> Result<Report, RunError> {
        let (started, begin) = (SystemTime::now(), Instant::now());
        let mut settings = self.settings.clone();
        let nodes = client::nodes(&settings, self.longest())?;
        // Nodes that were not started for a matrix refuse it before anything is measured.
        let connected = match self.kind {
            MeasurementKind::Matrix => connect_all(&settings, &nodes, self.longest())?,
            _ => ConnectedPairs::default(),
        };
        let _line = progress::begin(self.estimate(self.max_connections()), self.is_quick);
        let round_trips = self.round_trips(&settings, &nodes)?;
        let tried =
            if self.should_choose_connections { self.choose(&mut settings)? } else { Vec::new() };
        let way_out = &settings.network.options.egress;
        let interface = way_out.interface.as_deref();
        let mut report = Report {
            form: 1,
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
            routes: nodes.iter().map(|node| Route::from_node(node, interface)).collect(),
            round_trips,
            ..Report::default()
        };
        match &self.kind {
            MeasurementKind::Sweep { needs, targets } => {
                report.bandwidth = self.sweep(&settings)?;
                report.benchmarks = benchmarks(needs, &report.bandwidth, targets);
            }
            MeasurementKind::Matrix => {
                let size = self.longest();
                let known = measure_slowest_rate(&settings, size, self.times)?;
                let (times, rounds) = (self.times, self.rounds);
                report.matrix =
                    Some(matrix(&settings, &nodes, size, times, rounds, known, connected)?);
            }
            MeasurementKind::Soak => report.soak = Some(self.soak(&settings)?),
            MeasurementKind::OpenLoop { rate, shapes } => {
                for (benchmark, shape) in shapes {
                    let (benchmark, duration) = (benchmark.clone(), self.times.duration);
                    let run = open_loop(&settings, *shape, benchmark, *rate, duration)?;
                    progress::open_loop(&run);
                    report.open_loop.push(run);
                }
            }
        }
        report.seconds = begin.elapsed().as_secs_f64();
        Ok(report)
    }

    fn longest(&self) -> usize {
        self.sizes.last().copied().unwrap_or_default()
    }

    /// Returns the sizes whose round trips are timed. Empty unless the plan is a sweep.
    fn round_trip_sizes(&self) -> impl Iterator<Item = &usize> {
        let is_sweep = matches!(self.kind, MeasurementKind::Sweep { .. });
        self.sizes.iter().filter(move |size| is_sweep && **size <= LONGEST_ROUND_TRIP)
    }

    /// Returns the number of round-trip measurements, one for each size and node, and the time for
    /// each.
    fn round_trip_time(&self) -> (u32, Duration) {
        let trips = saturating_u32(self.round_trip_sizes().count() * self.settings.nodes.len());
        (trips, self.times.duration.min(self.round_trips / trips.max(1)))
    }

    fn round_trips(
        &self,
        settings: &Settings,
        nodes: &[NodeInfo],
    ) -> Result<Vec<RoundTrip>, RunError> {
        let (_, time) = self.round_trip_time();
        let mut trips = Vec::new();
        for size in self.round_trip_sizes() {
            for node in nodes {
                let trip = round_trip(settings, &node.address, *size, time)?;
                progress::round_trip(&trip);
                trips.push(trip);
            }
        }
        Ok(trips)
    }

    /// Estimates the time of the whole plan on a fast network, in whole seconds, for a maximum
    /// number of connections to try.
    pub(crate) fn estimate(&self, most_connections: usize) -> Duration {
        let Times { warm_up, duration } = self.times;
        let measurements = |number: usize, times: Times| {
            let one = times.warm_up.saturating_add(times.duration).saturating_add(SETTLING);
            one.saturating_mul(saturating_u32(number))
        };
        let mut all = match &self.kind {
            MeasurementKind::Sweep { .. } => {
                let cells = self.sizes.len() * Direction::ALL.len() * self.rounds;
                let (trips, time) = self.round_trip_time();
                measurements(cells, self.times).saturating_add(time.saturating_mul(trips))
            }
            MeasurementKind::Matrix => {
                let steps = measure::steps(self.settings.nodes.len()) * self.rounds;
                measurements(steps, self.times)
            }
            MeasurementKind::Soak => warm_up.saturating_add(duration),
            MeasurementKind::OpenLoop { shapes, .. } => {
                duration.saturating_mul(saturating_u32(shapes.len()))
            }
        };
        if self.should_choose_connections {
            // Two more measurements determine how much may be in flight.
            let tries = most_connections.next_power_of_two().ilog2() as usize + 1;
            all = all.saturating_add(measurements(tries + 2, self.choice_times()));
        }
        Duration::from_secs(all.as_secs().saturating_add(1))
    }

    fn choice_times(&self) -> Times {
        Times { duration: self.times.duration.min(CHOICE_TIME), ..self.times }
    }

    /// Returns the maximum number of connections to each node to try.
    fn max_connections(&self) -> usize {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let is_matrix = matches!(self.kind, MeasurementKind::Matrix);
        if is_matrix { cores.min(MEASURE_CONNECTIONS as usize) } else { cores }
    }

    /// Doubles connections and I/O threads while that makes the measurement faster, and sets them.
    /// Uses the smallest size that is long enough, because the maximum size may take minutes on a
    /// slow network.
    fn choose(&self, settings: &mut Settings) -> Result<Vec<ConnectionTrial>, RunError> {
        let long = self.sizes.iter().find(|size| **size >= CHOICE_SIZE);
        let Some(size) = long.or(self.sizes.last()) else { return Ok(Vec::new()) };
        let (times, most) = (self.choice_times(), self.max_connections());
        (settings.connections_per_node, settings.io_threads) = (1, 1);
        let (mut tried, mut known) =
            (Vec::<ConnectionTrial>::new(), measure_slowest_rate(settings, *size, times)?);
        while let Some(connections) = connection_choice::next_connections(&tried, most) {
            (settings.connections_per_node, settings.io_threads) = (connections, connections);
            let which = progress::trial(connections);
            progress::begin_cell(&which, *size, Direction::Both);
            let cell = bandwidth(settings, *size, Direction::Both, times, known)?;
            known = known.max(cell.slowest_bytes_per_second());
            progress::cell(&which, &cell);
            tried.push(ConnectionTrial { connections, bytes_per_second: cell.bytes_per_second() });
        }
        let chosen = connection_choice::chosen_connections(&tried);
        (settings.connections_per_node, settings.io_threads) = (chosen, chosen);
        Ok(tried)
    }

    /// Measures each size in each direction, round by round. Returns the cells; a cell is the
    /// bandwidth of one size in one direction. Known rates keep a slow network from taking minutes
    /// for each cell.
    fn sweep(&self, settings: &Settings) -> Result<Vec<Bandwidth>, RunError> {
        let mut cells: Vec<Vec<Bandwidth>> = Vec::new();
        let mut sizes = self.sizes.clone();
        let Some(first) = sizes.first() else { return Ok(Vec::new()) };
        // Rate of the slowest node. Without it, the first cell would have less in flight than the
        // next one.
        let mut known = measure_slowest_rate(settings, *first, self.times)?;
        for round in 1..=self.rounds {
            let which = format!("round {round} of {}, ", self.rounds);
            let (mut next_cell, mut left_out) = (0, Vec::new());
            for size in &sizes {
                let too_long = known * TOO_LONG * self.times.duration.as_secs_f64();
                if round == 1 && known > 0.0 && *size as f64 > too_long {
                    progress::log_left_out(*size);
                    left_out.push(*size);
                    continue;
                }
                for direction in Direction::ALL {
                    progress::begin_cell(&which, *size, direction);
                    let cell = bandwidth(settings, *size, direction, self.times, known)?;
                    progress::cell(&which, &cell);
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
        Ok(cells.into_iter().filter_map(Bandwidth::median).collect())
    }

    fn soak(&self, settings: &Settings) -> Result<Bandwidth, RunError> {
        let size = self.longest();
        let known = measure_slowest_rate(settings, size, self.times)?;
        progress::begin_cell("soak, ", size, Direction::Both);
        bandwidth(settings, size, Direction::Both, self.times, known)
    }
}

fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the rate of the slowest node, in bytes per second, from a short measurement. The rate
/// determines how much may be in flight.
fn measure_slowest_rate(settings: &Settings, size: usize, times: Times) -> Result<f64, RunError> {
    let times = Times { duration: times.duration.min(LEARNING_TIME), ..times };
    Ok(bandwidth(settings, size, Direction::Both, times, 0.0)?.slowest_bytes_per_second())
}
