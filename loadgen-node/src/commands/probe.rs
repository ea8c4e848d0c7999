//! `loadgen-node probe`: one sample for every node, and its response.

use netdiv_dataset::{self as dataset, Dataset};
use netdiv_machine::{
    doctor::{Facts, ReportArgs, identify},
    evidence::System,
};
use netdiv_node_common::process::CommandSettings;
use netdiv_rules::Scenario;
use netdiv_transport::discovery::DiscoveryError;
use serde::Serialize;

use super::doctor::write_report;
use crate::{
    RunArgs, RunConfig, RunError, doctor,
    qsl::labels,
    report,
    run::Interruptions,
    settings::{DnsNames, usage},
};

/// Name of the benchmark if none is given: a sample does not depend on it.
const NAMELESS: &str = "probe";

const NO_DATA_SET: &str = "no data set to take a sample from; give --dataset PATH, or the demo's: --dataset digits or --dataset sorting";

/// Arguments of `loadgen-node probe`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProbeCommand {
    #[command(flatten)]
    settings: CommandSettings<ProbeArgs>,
    #[command(flatten)]
    report: ReportArgs,
}

/// Keys of `loadgen-node probe`.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub(super) struct ProbeArgs {
    /// Keys of `run`; those about LoadGen have no effect.
    #[command(flatten)]
    #[serde(flatten)]
    run: RunArgs,
}

/// Settings of the run that the probe prepares for, and its data set.
struct Probe {
    config: RunConfig,
    data: Box<dyn Dataset>,
}

impl ProbeArgs {
    fn resolve(&self, names: DnsNames) -> Result<Probe, RunError> {
        if self.run.in_process.is_some() {
            return usage("probe asks nodes over the network; leave --in-process out");
        }
        if self.run.network.nodes.as_ref().is_none_or(Vec::is_empty) {
            return usage(DiscoveryError::NoNodes { option: "--nodes" }.to_string());
        }
        let mut run = self.run.clone();
        run.scenario.get_or_insert(Scenario::Offline);
        if run.benchmark.is_none() {
            if run.dataset.is_none() {
                return usage(NO_DATA_SET);
            }
            run.benchmark = Some(NAMELESS.into());
        }
        let config = run.resolve_with(names)?;
        let data = dataset::open(&config.dataset)?;
        // The responses are not compared with the labels, but a run would refuse invalid labels.
        labels::read_labels(&config, data.sample_count())?;
        Ok(Probe { config, data })
    }
}

impl ProbeCommand {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        Interruptions::listen()?;
        let names = DnsNames::of(&self.settings);
        let probe = self.settings.resolve(|args| args.resolve(names))?;
        let Some(Probe { config, data }) = probe else { return Ok(0) };
        let Some(settings) = config.target.nodes() else {
            return usage("no nodes; give --nodes HOST:PORT,…");
        };
        let asked = doctor::survey(settings)?;
        let peers = doctor::peers(&asked);
        let (nodes, sample) = doctor::send(&config, data, settings, &asked)?;
        let report = identify(&Facts::of(System::default().identity()), doctor::PROGRAM, &peers);
        let table = report::probe::render(&nodes, &sample);
        let report = report.with_nodes(nodes, Some(sample));
        write_report(&self.report, &report, format!("{table}\n\n{report}"))
    }
}
