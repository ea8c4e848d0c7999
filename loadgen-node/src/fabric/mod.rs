//! `loadgen-node fabric`: what the network between this machine and the nodes can carry, over the very transport of a
//! run: the same QDL, messages, windows and connections. Nodes run the engine `none`, which answers each sample with as
//! many bytes as it asks for.
//!
//! `measure.rs` takes the figures, `route.rs` finds the interfaces;
//! `report.rs`, `text.rs` and `plot.rs` show them.

mod measure;
mod plot;
mod report;
mod route;
mod text;

use std::{path::PathBuf, time::Duration};

use netdiv_qdl::Settings;
use netdiv_rules::benchmarks::Table;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use self::{
    measure::Direction,
    report::{Bandwidth, Report},
};
use crate::{
    NetworkArgs, RunError,
    network::{at_least_one, transport_name},
    output,
};

/// Message sizes when none are given, in bytes: from 64 B to 64 MiB.
const SIZES: [usize; 6] = [64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20];

/// Longest message whose round trip is timed, in bytes: beyond it the bandwidth says the same.
const LONGEST_ROUND_TRIP: usize = 1 << 20;

/// A message that takes this many times as long as a measurement is left out.
const TOO_LONG: f64 = 2.0;

/// Keys of `loadgen-node fabric`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct FabricArgs {
    /// The network side.
    #[command(flatten)]
    #[serde(flatten)]
    pub network: NetworkArgs,
    /// Message sizes, in bytes [default: 64,1024,16384,262144,4194304,67108864]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub sizes: Option<Vec<usize>>,
    /// Length of each measurement, in milliseconds [default: 1000]
    #[arg(long, value_name = "MS")]
    pub duration_ms: Option<u64>,
    /// Rates that the fabric has to carry, for instance resnet50=20000; exit code 1 when it does not
    #[arg(long, value_name = "BENCHMARK=SAMPLES_PER_SECOND", value_delimiter = ',')]
    pub target: Option<Vec<String>>,
    /// Folder for fabric.json and fabric.svg [default: out/fabric]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// A checked set of settings.
struct Plan {
    settings: Settings,
    sizes: Vec<usize>,
    duration: Duration,
    targets: Vec<(String, f64)>,
    output: PathBuf,
}

impl FabricArgs {
    /// Checks that the settings fit together.
    pub fn check(&self) -> Result<(), RunError> {
        self.resolve().map(drop)
    }

    fn resolve(&self) -> Result<Plan, RunError> {
        let mut sizes = self.sizes.clone().unwrap_or_else(|| SIZES.to_vec());
        for size in &sizes {
            at_least_one("sizes", *size)?;
        }
        sizes.sort_unstable();
        sizes.dedup();
        let duration = self.duration_ms.unwrap_or(1000);
        at_least_one("duration-ms", duration as usize)?;
        let target = |text: &String| {
            let wrong = |why: String| RunError::Usage(format!("--target {text}: {why}"));
            let (name, rate) = text
                .split_once('=')
                .ok_or_else(|| wrong("write BENCHMARK=SAMPLES_PER_SECOND".into()))?;
            let needs = Table::builtin().needs();
            if !needs.iter().any(|need| need.name == name) {
                let names: Vec<_> = needs.iter().map(|need| need.name.as_str()).collect();
                return Err(wrong(format!("choose one of {}", names.join(", "))));
            }
            match rate.parse::<f64>() {
                Ok(rate) if rate.is_finite() && rate > 0.0 => Ok((name.to_owned(), rate)),
                _ => Err(wrong(format!("`{rate}` is no number above 0"))),
            }
        };
        let targets: Vec<(String, f64)> =
            self.target.iter().flatten().map(target).collect::<Result<_, _>>()?;
        for (place, (name, _)) in targets.iter().enumerate() {
            if targets[..place].iter().any(|(before, _)| before == name) {
                return Err(RunError::Usage(format!("--target: {name} is given twice")));
            }
        }
        Ok(Plan {
            settings: self.network.resolve()?,
            sizes,
            duration: Duration::from_millis(duration),
            targets,
            output: self.output.clone().unwrap_or_else(|| "out/fabric".into()),
        })
    }
}

/// Measures, prints the figures and writes them down. Returns whether the fabric carries every target.
pub fn fabric(args: &FabricArgs) -> Result<bool, RunError> {
    let plan = args.resolve()?;
    let settings = &plan.settings;
    output::prepare(&plan.output)?;
    let nodes = measure::nodes(settings, &plan.sizes)?;
    let mut report = Report {
        transport: transport_name(settings.network.options.transport).into(),
        tls: settings.network.options.tls.is_some(),
        connections_per_node: settings.connections_per_node,
        streams_per_connection: settings.streams_per_connection,
        duration_ms: plan.duration.as_millis() as u64,
        routes: nodes.iter().map(route::to).collect(),
        ..Report::default()
    };
    for size in plan.sizes.iter().filter(|size| **size <= LONGEST_ROUND_TRIP) {
        for node in &nodes {
            info!(node = node.description.node_name, bytes = size, "timing round trips");
            report.round_trips.push(measure::round_trip(
                settings,
                &node.address,
                *size,
                plan.duration,
            )?);
        }
    }
    measure_bandwidth(&plan, &mut report)?;
    let needs = Table::builtin().needs();
    report.benchmarks = report::benchmarks(&needs, &report.bandwidth, &plan.targets);
    let json = serde_json::to_vec_pretty(&report)
        .map_err(|error| RunError::Failed(format!("fabric.json: {error}")))?;
    let svg =
        plot::svg(&report).map_err(|error| RunError::Failed(format!("fabric.svg: {error}")))?;
    output::write(&plan.output.join("fabric.json"), &json)?;
    output::write(&plan.output.join("fabric.svg"), svg.as_bytes())?;
    let folder = plan.output.display();
    output::report(format_args!(
        "{}\nfabric.json and fabric.svg in {folder}",
        text::render(&report)
    ));
    Ok(report.benchmarks.iter().all(|benchmark| benchmark.carried != Some(false)))
}

/// Each size in each direction. What is already known keeps a slow network from taking minutes for each.
fn measure_bandwidth(plan: &Plan, report: &mut Report) -> Result<(), RunError> {
    for size in &plan.sizes {
        let rates = report.bandwidth.iter().map(Bandwidth::bytes_per_second);
        let known = rates.fold(0.0, f64::max);
        if known > 0.0 && *size as f64 > known * TOO_LONG * plan.duration.as_secs_f64() {
            warn!(bytes = size, "left out: one message would take too long; raise --duration-ms");
            continue;
        }
        for direction in Direction::ALL {
            info!(bytes = size, direction = direction.words(), "measuring bandwidth");
            let cell = measure::bandwidth(&plan.settings, *size, direction, plan.duration, known)?;
            report.bandwidth.push(cell);
        }
    }
    Ok(())
}
