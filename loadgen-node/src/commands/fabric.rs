//! `loadgen-node fabric`: measures what the network to the nodes can carry.

use std::{path::PathBuf, time::Duration};

use netdiv_contract::limits::MAX_PAYLOAD_BYTES;
use netdiv_process::{ByteCount, SettingsFile, TimeSpan};
use netdiv_qdl::Settings;
use netdiv_rules::book::{Need, Table};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::{
    NetworkArgs, RunError,
    fabric::{
        figures::{self, Bandwidth, Direction, Report},
        measure, route,
    },
    output, report,
    settings::{Names, bytes, set_time, usage},
};

/// Message sizes when none are given, in bytes: from 64 B to 64 MiB.
const SIZES: [usize; 6] = [64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20];

/// Longest message whose round trip is timed, in bytes: beyond it the bandwidth says the same.
const LONGEST_ROUND_TRIP: usize = 1 << 20;

/// A message that takes this many times as long as a measurement is left out.
const TOO_LONG: f64 = 2.0;

/// Heading of options in the help.
const MEASUREMENT: &str = "Measurement";

/// `loadgen-node fabric`.
#[derive(Debug, clap::Args)]
pub struct FabricCommand {
    #[command(flatten)]
    file: SettingsFile,
    #[command(flatten)]
    args: FabricArgs,
}

/// Keys of `loadgen-node fabric`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
struct FabricArgs {
    /// The network side.
    #[command(flatten)]
    #[serde(flatten)]
    network: NetworkArgs,
    /// Message sizes [default: 64,1KiB,16KiB,256KiB,4MiB,64MiB]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', help_heading = MEASUREMENT)]
    sizes: Option<Vec<ByteCount>>,
    /// Length of each measurement [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = MEASUREMENT)]
    duration: Option<TimeSpan>,
    /// Rates that the fabric has to carry, for instance resnet50=20000; the exit code is 1 if it does not
    #[arg(long, value_name = "BENCHMARK=SAMPLES_PER_SECOND", value_delimiter = ',', help_heading = MEASUREMENT)]
    target: Option<Vec<String>>,
    /// Folder for fabric.json and fabric.svg [default: out/fabric]
    #[arg(long, value_name = "DIR", help_heading = MEASUREMENT)]
    output: Option<PathBuf>,
}

/// A measurement whose settings fit together.
struct FabricConfig {
    settings: Settings,
    sizes: Vec<usize>,
    duration: Duration,
    /// What the benchmarks of the built-in table need of a network.
    needs: Vec<Need>,
    targets: Vec<(String, f64)>,
    output: PathBuf,
}

impl FabricArgs {
    fn resolve(&self, names: Names) -> Result<FabricConfig, RunError> {
        let size = |size: &ByteCount| bytes("sizes", Some(*size), 1, 1..=MAX_PAYLOAD_BYTES);
        let mut sizes = match &self.sizes {
            Some(sizes) => sizes.iter().map(size).collect::<Result<_, _>>()?,
            None => SIZES.to_vec(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        let mut duration = Duration::from_secs(1);
        set_time("duration", &mut duration, self.duration)?;
        let table = Table::builtin().map_err(|error| RunError::Failed(error.to_string()))?;
        let needs = table.needs();
        Ok(FabricConfig {
            targets: self.targets(&needs)?,
            needs,
            settings: self.network.resolve(names)?,
            sizes,
            duration,
            output: self.output.clone().unwrap_or_else(|| "out/fabric".into()),
        })
    }

    fn targets(&self, needs: &[Need]) -> Result<Vec<(String, f64)>, RunError> {
        let mut targets: Vec<(String, f64)> = Vec::new();
        for text in self.target.iter().flatten() {
            let Some((name, rate)) = text.split_once('=') else {
                return usage(format!("--target {text}: write BENCHMARK=SAMPLES_PER_SECOND"));
            };
            if !needs.iter().any(|need| need.name == name) {
                let names: Vec<_> = needs.iter().map(|need| need.name.as_str()).collect();
                return usage(format!("--target {text}: choose one of {}", names.join(", ")));
            }
            if targets.iter().any(|(before, _)| before == name) {
                return usage(format!("--target: {name} is given twice"));
            }
            match rate.parse::<f64>() {
                Ok(rate) if rate.is_finite() && rate > 0.0 => targets.push((name.into(), rate)),
                _ => {
                    return usage(format!("--target {text}: `{rate}` is not a number above 0"));
                }
            }
        }
        Ok(targets)
    }
}

impl FabricCommand {
    /// Measures, prints the figures and writes them down.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let names = Names::of(&self.file);
        let config = self.file.resolve(&self.args, |args: &FabricArgs| args.resolve(names))?;
        let Some(config) = config else { return Ok(0) };
        let _claim = output::prepare(&config.output)?;
        let figures = measure(&config)?;
        let failed =
            |file: &str, error: String| RunError::Failed(format!("cannot make {file}: {error}"));
        let json = serde_json::to_vec_pretty(&figures)
            .map_err(|error| failed("fabric.json", error.to_string()))?;
        let svg = report::fabric_plot::svg(&figures)
            .map_err(|error| failed("fabric.svg", error.to_string()))?;
        output::write(&config.output.join("fabric.json"), &json)?;
        output::write(&config.output.join("fabric.svg"), svg.as_bytes())?;
        output::report(format_args!(
            "{}\nfabric.json and fabric.svg in {}",
            report::fabric::render(&figures),
            config.output.display()
        ));
        Ok(u8::from(figures.benchmarks.iter().any(|benchmark| benchmark.carried == Some(false))))
    }
}

fn measure(config: &FabricConfig) -> Result<Report, RunError> {
    let settings = &config.settings;
    let nodes = measure::nodes(settings, &config.sizes)?;
    let mut report = Report {
        transport: settings.network.options.transport,
        tls: settings.network.options.tls.is_some(),
        connections_per_node: settings.connections_per_node,
        streams_per_connection: settings.streams_per_connection,
        duration_ms: config.duration.as_millis() as u64,
        routes: nodes.iter().map(route::to).collect(),
        ..Report::default()
    };
    for size in config.sizes.iter().filter(|size| **size <= LONGEST_ROUND_TRIP) {
        for node in &nodes {
            info!(node = node.description.node_name, bytes = size, "timing round trips");
            let trip = measure::round_trip(settings, &node.address, *size, config.duration)?;
            report.round_trips.push(trip);
        }
    }
    measure_bandwidth(config, &mut report)?;
    report.benchmarks = figures::benchmarks(&config.needs, &report.bandwidth, &config.targets);
    Ok(report)
}

/// Each size in each direction. What is already known keeps a slow network from taking minutes for each.
fn measure_bandwidth(config: &FabricConfig, report: &mut Report) -> Result<(), RunError> {
    for size in &config.sizes {
        let rates = report.bandwidth.iter().map(Bandwidth::bytes_per_second);
        let known = rates.fold(0.0, f64::max);
        if known > 0.0 && *size as f64 > known * TOO_LONG * config.duration.as_secs_f64() {
            warn!(bytes = size, "left out: one message would take too long; raise --duration");
            continue;
        }
        for direction in Direction::ALL {
            info!(bytes = size, %direction, "measuring bandwidth");
            let cell =
                measure::bandwidth(&config.settings, *size, direction, config.duration, known)?;
            report.bandwidth.push(cell);
        }
    }
    Ok(())
}
