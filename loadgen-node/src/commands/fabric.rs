//! `loadgen-node fabric`: a measurement of the capacity of the network to the nodes.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use netdiv_contract::limits::{MAX_MEASURE, MAX_PAYLOAD_BYTES, MEASURE_CONNECTIONS};
use netdiv_node_common::{
    process::{ByteCount, CommandSettings, TimeSpan},
    words::did_you_mean,
};
use netdiv_qdl::Settings;
use netdiv_rules::book::{Bandwidth, Table};
use netdiv_transport::EgressOptions;
use serde::Serialize;
use tracing::warn;

use crate::{
    NetworkArgs, RunError,
    fabric::{
        figures::{Direction, Shape},
        plan::{
            Defaults, MeasurementKind, ONE_SIZE, OPEN_LOOP_SIZES, Plan, QUICK, ROUNDS, THOROUGH,
        },
        report::Report,
        watch::Times,
    },
    output::{self, FABRIC},
    report,
    run::Interruptions,
    settings::{DnsNames, bytes, time, usage},
};

/// Parses the rate of an open loop, in messages per second.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1e8);
    rate.ok_or_else(|| "must be above 0 and at most 100000000".into())
}

/// Page of a measurement, beside its figures.
pub(super) const PAGE: &str = "fabric.html";

const PLOT: &str = "fabric.svg";
const HEAT_MAP: &str = "matrix.svg";
const MAX_ROUNDS: usize = 1000;

/// Headings of options in the help.
const MEASUREMENT: &str = "Measurement";
const EGRESS: &str = "Egress";

/// Keys of `loadgen-node fabric`.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub(crate) struct FabricArgs {
    /// Keys of the connections to nodes.
    #[command(flatten)]
    #[serde(flatten)]
    network: NetworkArgs,
    /// Measure more sizes, each for longer, so that figures vary less: 64,16KiB,128KiB,1MiB,64MiB,
    /// each for 5s after 1s of warm-up. With one node that takes five minutes instead of half a
    /// minute
    #[arg(long, num_args = 0..=1, default_missing_value = "true", conflicts_with_all = ["soak", "rate"], help_heading = MEASUREMENT)]
    thorough: Option<bool>,
    /// Message sizes; with --target also the sizes of the benchmark's samples and responses
    /// [default: 64,16KiB,1MiB]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', help_heading = MEASUREMENT)]
    sizes: Option<Vec<ByteCount>>,
    /// Length of each measurement, after the warm-up [default: 300ms; with --thorough and --rate 5s]
    #[arg(long, value_name = "TIME", help_heading = MEASUREMENT)]
    duration: Option<TimeSpan>,
    /// Time at the beginning of each bandwidth measurement that does not count; 0 counts all of it
    /// [default: 200ms; with --thorough and --soak 1s]
    #[arg(long, value_name = "TIME", help_heading = MEASUREMENT)]
    warm_up: Option<TimeSpan>,
    /// Number of measurements of each bandwidth, in turn with the others; the median counts
    /// [default: 3]
    #[arg(long, value_name = "COUNT", help_heading = MEASUREMENT)]
    rounds: Option<usize>,
    /// Rates that the network has to carry, for instance resnet50=20000; the exit code is 1 if it
    /// does not
    #[arg(long, value_name = "BENCHMARK=SAMPLES_PER_SECOND", value_delimiter = ',', help_heading = MEASUREMENT)]
    target: Option<Vec<String>>,
    /// Measure only the longest of the sizes, between all pairs of hosts, and name the slow hosts
    /// and pairs. Pairs are this machine and each node, and node to node; then this machine and all
    /// nodes at once. Start each node with --fabric-peers [sizes by default: 1MiB]
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = MEASUREMENT)]
    matrix: Option<bool>,
    /// Measure only the longest of the sizes, in both directions for this time, with its longest
    /// gap and its p99.9 [sizes by default: 1MiB]
    #[arg(long, value_name = "TIME", help_heading = MEASUREMENT)]
    soak: Option<TimeSpan>,
    /// Measure only an open loop: send at this rate to all nodes together, without waiting for
    /// answers. Latencies count from the time at which a message was due. The exit code is 1 if the
    /// rate could not be kept [sizes by default: 64,16KiB,128KiB]
    #[arg(long, value_name = "MESSAGES_PER_SECOND", value_parser = rate, help_heading = MEASUREMENT)]
    rate: Option<f64>,
    /// Benchmark, or several separated by commas. With --rate and without --sizes: messages and
    /// answers are as long as its samples and responses. Without --soak, --rate and --matrix: the
    /// report leaves out other benchmarks
    #[arg(long, value_name = "BENCHMARK", help_heading = MEASUREMENT)]
    benchmark: Option<String>,
    /// Bind to this interface: send only through it, whatever the routes are. Answers have to arrive
    /// on it, too
    #[arg(long, value_name = "NAME", help_heading = EGRESS)]
    interface: Option<String>,
    /// gRPC: differentiated services code point (DSCP) of sent packets, from 0 to 63 (RFC 2474)
    #[arg(long, value_name = "CODE_POINT", help_heading = EGRESS)]
    dscp: Option<u8>,
    /// Congestion control of sent packets: for gRPC one of the kernel's, for QUIC cubic, new-reno
    /// or bbr
    #[arg(long, value_name = "NAME", help_heading = EGRESS)]
    congestion_control: Option<String>,
    /// Write the statement about the network that the rules of MLPerf Endpoints require into this
    /// file, in Markdown: interconnect, latency and bandwidth. For the measurement of all sizes
    #[arg(long, value_name = "FILE", help_heading = MEASUREMENT)]
    statement: Option<PathBuf>,
    /// File for the report as JSON; - writes it to standard output instead of the tables
    #[arg(long, value_name = "FILE", help_heading = MEASUREMENT)]
    json: Option<PathBuf>,
    /// Folder for fabric.json, its page fabric.html, and its plot, fabric.svg or matrix.svg [default: out/fabric]
    #[arg(long, value_name = "DIR", help_heading = MEASUREMENT)]
    output: Option<PathBuf>,
}

impl FabricArgs {
    fn resolve(&self, names: DnsNames) -> Result<Plan, RunError> {
        let kind = self.kind()?;
        let has_rounds = matches!(kind, MeasurementKind::Sweep { .. } | MeasurementKind::Matrix);
        let is_quick = has_rounds && !self.thorough.unwrap_or(false);
        let defaults = if is_quick { &QUICK } else { &THOROUGH };
        let Times { warm_up, mut duration } = defaults.times;
        for (key, given) in [("duration", self.duration), ("soak", self.soak)] {
            duration = given.map_or(Ok(duration), |given| time(key, given))?;
        }
        let warm_up = self.warm_up.map_or(warm_up, TimeSpan::duration);
        let rounds = self.rounds.unwrap_or(ROUNDS);
        if !(1..=MAX_ROUNDS).contains(&rounds) {
            return usage(format!("--rounds {rounds}: must be from 1 to {MAX_ROUNDS}"));
        }
        if self.statement.is_some() && !matches!(kind, MeasurementKind::Sweep { .. }) {
            return usage(
                "--statement is for the measurement of all sizes; leave out --matrix, --soak and --rate",
            );
        }
        let given = [self.network.connections, self.network.streams, self.network.io_threads];
        let settings = self.settings(names)?;
        let times = Times { warm_up, duration };
        if matches!(kind, MeasurementKind::Matrix) {
            check_matrix(&settings, times, names)?;
        }
        Ok(Plan {
            sizes: self.sizes(&default_sizes(&kind, defaults))?,
            settings,
            times,
            // --duration applies to every measurement.
            round_trips: self.duration.map_or(defaults.round_trips, |_| Duration::MAX),
            rounds: if has_rounds { rounds } else { 1 },
            is_quick,
            should_choose_connections: given.iter().all(Option::is_none),
            kind,
        })
    }

    /// Returns the QDL's settings, with the egress options of this machine.
    fn settings(&self, names: DnsNames) -> Result<Settings, RunError> {
        let mut settings = self.network.resolve(names)?;
        let options = &mut settings.network.options;
        options.egress = EgressOptions {
            interface: self.interface.clone(),
            dscp: self.dscp,
            congestion_control: self.congestion_control.clone(),
        };
        options.egress.check(options.transport).map_err(RunError::Usage)?;
        Ok(settings)
    }

    /// Returns the message sizes in bytes, in ascending order.
    fn sizes(&self, default: &[usize]) -> Result<Vec<usize>, RunError> {
        let size = |size: &ByteCount| bytes("sizes", *size, 1..=MAX_PAYLOAD_BYTES);
        let mut sizes = match &self.sizes {
            Some(sizes) => sizes.iter().map(size).collect::<Result<_, _>>()?,
            None => default.to_vec(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        Ok(sizes)
    }

    fn kind(&self) -> Result<MeasurementKind, RunError> {
        let known = KnownNeeds::new()?;
        let is_matrix = self.matrix.unwrap_or(false);
        let others = [
            ("--matrix", is_matrix),
            ("--soak", self.soak.is_some()),
            ("--rate", self.rate.is_some()),
            ("--target", self.target.is_some()),
        ];
        let mut given = others.iter().filter(|(_, given)| *given).map(|(name, _)| name);
        if let (Some(one), Some(two)) = (given.next(), given.next()) {
            return usage(format!("{one} and {two} are different measurements; give one of them"));
        }
        if is_matrix {
            return Ok(MeasurementKind::Matrix);
        }
        if let Some(rate) = self.rate {
            let benchmarks = self.named().filter(|_| self.sizes.is_none());
            let mut shapes =
                benchmarks.map(|name| known.shape(name)).collect::<Result<Vec<_>, _>>()?;
            if shapes.is_empty() {
                let shape = |bytes| (None, Shape::of(Direction::ToNodes, bytes));
                shapes = self.sizes(&OPEN_LOOP_SIZES)?.into_iter().map(shape).collect();
            }
            return Ok(MeasurementKind::OpenLoop { rate, shapes });
        }
        if self.soak.is_some() {
            return Ok(MeasurementKind::Soak);
        }
        let targets = self.targets(&known)?;
        self.named().try_for_each(|name| known.check_name(name))?;
        let is_meant = |need: &&Bandwidth| {
            let is_named = self.named().any(|name| known.is_of(need, name));
            is_named || targets.iter().any(|(target, _)| *target == need.name)
        };
        let needs = known.needs.iter().filter(is_meant).cloned().collect();
        Ok(MeasurementKind::Sweep { needs, targets })
    }

    /// Returns the names of benchmarks that `--benchmark` gives.
    fn named(&self) -> impl Iterator<Item = &str> {
        self.benchmark.iter().flat_map(|names| names.split(',')).map(str::trim)
    }

    /// Fails if the bandwidth of a benchmark is unknown. For a benchmark on the command line: a
    /// settings file may name the user's own.
    fn check_benchmarks(&self) -> Result<(), RunError> {
        let known = KnownNeeds::new()?;
        let find = |name| known.find(name, &format!("--benchmark {name}")).map(drop);
        self.named().try_for_each(find)
    }

    fn targets(&self, known: &KnownNeeds) -> Result<Vec<(String, f64)>, RunError> {
        let mut targets: Vec<(String, f64)> = Vec::new();
        for text in self.target.iter().flatten() {
            let Some((name, rate)) = text.split_once('=') else {
                return usage(format!("--target {text}: write BENCHMARK=SAMPLES_PER_SECOND"));
            };
            let name = &known.find(name, &format!("--target {text}"))?.name;
            if targets.iter().any(|(before, _)| before == name) {
                return usage(format!("--target: {name} is given twice"));
            }
            match rate.parse::<f64>() {
                Ok(rate) if rate.is_finite() && rate > 0.0 => targets.push((name.clone(), rate)),
                _ => {
                    return usage(format!("--target {text}: `{rate}` is not a number above 0"));
                }
            }
        }
        Ok(targets)
    }
}

pub(super) fn execute(settings: &CommandSettings<FabricArgs>) -> Result<u8, RunError> {
    let interruptions = Interruptions::listen()?;
    let names = DnsNames::of(settings);
    let plan = settings.resolve(|args| {
        if settings.is_given("benchmark") {
            args.check_benchmarks()?;
        }
        args.resolve(names).map(|plan| (plan, args.clone()))
    })?;
    let Some((plan, args)) = plan else { return Ok(0) };
    let folder = args.output.unwrap_or_else(|| "out/fabric".into());
    let _claim = interruptions.prepare(&folder)?;
    let figures = plan.run()?;
    let text = serde_json::to_string_pretty(&figures)
        .map_err(|error| RunError::Failed(format!("cannot make {FABRIC}: {error}")))?;
    let text = format!("{text}\n");
    // A page and pictures of an earlier measurement would contradict these figures.
    for file in [PAGE, PLOT, HEAT_MAP] {
        output::remove(&folder.join(file))?;
    }
    output::write(&folder.join(FABRIC), text.as_bytes())?;
    if let Some(path) = &args.statement {
        output::write(path, report::statement::markdown(&figures).as_bytes())?;
    }
    let pictures = [
        (PAGE, Some(report::page::fabric(&figures))),
        (PLOT, report::page::fabric_plot(&figures)),
        (HEAT_MAP, report::page::fabric_matrix(&figures)),
    ];
    let mut files = FABRIC.to_owned();
    for (file, content) in pictures {
        let Some(content) = content else { continue };
        output::write(&folder.join(file), content.as_bytes())?;
        files += &format!(", {file}");
    }
    if args.json.as_deref().map_or(Ok(true), |path| output::put(path, &text))? {
        let tables = report::fabric::render(&figures);
        output::report(format_args!("{tables}\n{files} in {}", folder.display()));
    }
    check_measured(&figures)?;
    let carried = figures.benchmarks.iter().all(|one| one.carried != Some(false));
    let kept = figures.open_loop.iter().all(|open_loop| open_loop.kept);
    Ok(u8::from(!(carried && kept)))
}

/// Returns the default sizes, with the sizes of a target's samples and responses, on which its
/// verdict depends.
fn default_sizes(kind: &MeasurementKind, defaults: &Defaults) -> Vec<usize> {
    match kind {
        MeasurementKind::Sweep { needs, targets } => {
            let is_target = |need: &&Bandwidth| targets.iter().any(|(name, _)| *name == need.name);
            let bytes = needs.iter().filter(is_target);
            let bytes = bytes.flat_map(|need| [need.ingress_bytes(), need.egress_bytes()]);
            let bytes = bytes.filter_map(|bytes| usize::try_from(bytes).ok());
            let of_targets = bytes.filter(|bytes| (1..=MAX_PAYLOAD_BYTES).contains(bytes));
            defaults.sizes.iter().copied().chain(of_targets).collect()
        }
        MeasurementKind::Matrix | MeasurementKind::Soak => ONE_SIZE.to_vec(),
        MeasurementKind::OpenLoop { shapes, .. } => {
            let bytes = shapes.iter().map(|(_, shape)| shape.to_node);
            OPEN_LOOP_SIZES.into_iter().chain(bytes).collect()
        }
    }
}

/// Checks that the nodes can measure with each other with these options.
fn check_matrix(settings: &Settings, times: Times, names: DnsNames) -> Result<(), RunError> {
    let connections = settings.connections_per_node;
    if connections > MEASURE_CONNECTIONS as usize {
        return usage(format!(
            "--connections {connections}: with --matrix at most {MEASURE_CONNECTIONS}"
        ));
    }
    if times.warm_up.max(times.duration) > MAX_MEASURE {
        return usage("--matrix: --duration and --warm-up are at most 1h");
    }
    if settings.nodes.len() < 2 && names == DnsNames::LookUp {
        return usage("--matrix needs two nodes or more");
    }
    Ok(())
}

/// Fails if a part of the matrix could not be measured.
fn check_measured(figures: &Report) -> Result<(), RunError> {
    let failures = figures.matrix.as_ref().map(|matrix| &matrix.failures[..]).unwrap_or_default();
    let Some(first) = failures.first() else { return Ok(()) };
    Err(RunError::Failed(format!("{} parts could not be measured; {first}", failures.len())))
}

/// Needs for bandwidth of the benchmarks in the built-in table.
struct KnownNeeds {
    table: &'static Table,
    needs: Vec<Bandwidth>,
}

impl KnownNeeds {
    fn new() -> Result<Self, RunError> {
        let table = Table::builtin().map_err(RunError::failed)?;
        Ok(Self { table, needs: table.needs() })
    }

    /// Returns a benchmark's need, for the option `given`. Fails for an unknown benchmark.
    fn find(&self, name: &str, given: &str) -> Result<&Bandwidth, RunError> {
        let found = self.needs.iter().find(|need| self.is_of(need, name));
        found.ok_or_else(|| {
            let names: Vec<_> = self.needs.iter().map(|need| need.name.as_str()).collect();
            let (names, meant) = (names.join(", "), self.suggestion(name));
            RunError::Usage(format!("{given}: choose one of {names}{meant}"))
        })
    }

    /// Fails for an unknown name that resembles the name of a known benchmark. Accepts other
    /// unknown names, because a settings file may name the user's own benchmark.
    fn check_name(&self, name: &str) -> Result<(), RunError> {
        if self.needs.iter().any(|need| self.is_of(need, name)) {
            return Ok(());
        }
        let suggestion = self.suggestion(name);
        if self.table.find(name).is_none() && !suggestion.is_empty() {
            return usage(format!("--benchmark {name}: unknown{suggestion}"));
        }
        warn!("--benchmark {name}: the report leaves it out, because its bandwidth is unknown");
        Ok(())
    }

    fn suggestion(&self, name: &str) -> String {
        let benchmarks = self.table.benchmarks.iter().map(|benchmark| &benchmark.name);
        let known = self.needs.iter().map(|need| &need.name).chain(benchmarks);
        did_you_mean(name, known.map(String::as_str).collect::<BTreeSet<_>>())
    }

    /// Returns true if a need belongs to the benchmark `name`, or is itself called `name`.
    fn is_of(&self, need: &Bandwidth, name: &str) -> bool {
        let of_benchmark = self.table.find(name).map(|benchmark| &benchmark.bandwidth);
        need.name == name || of_benchmark.into_iter().flatten().any(|one| one.name == need.name)
    }

    /// Returns messages as long as a benchmark's samples, with answers as long as its responses.
    fn shape(&self, name: &str) -> Result<(Option<String>, Shape), RunError> {
        let need = self.find(name, &format!("--benchmark {name}"))?;
        let bytes = |bytes: u64| match usize::try_from(bytes) {
            Ok(bytes) if bytes <= MAX_PAYLOAD_BYTES => Ok(bytes),
            _ => usage(format!("--benchmark {name}: {bytes} bytes do not fit into one message")),
        };
        let (to_node, from_node) = (bytes(need.ingress_bytes())?, bytes(need.egress_bytes())?);
        Ok((Some(need.name.clone()), Shape { to_node, from_node }))
    }
}

#[cfg(test)]
mod tests;
