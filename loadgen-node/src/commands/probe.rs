//! `loadgen-node probe`: one sample for every node, and its response.

use netdiv_dataset::Dataset;
use netdiv_machine::{
    doctor::{Facts, ReportArgs, identify},
    evidence::System,
};
use netdiv_node_common::process::CommandSettings;
use netdiv_rules::Scenario;
use netdiv_transport::discovery::DiscoveryError;

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
    settings: CommandSettings<RunArgs>,
    #[command(flatten)]
    report: ReportArgs,
}

/// Returns the settings of the run that the probe prepares for, and its data set. Keys about
/// LoadGen have no effect.
fn resolve(given: &RunArgs, names: DnsNames) -> Result<(RunConfig, Box<dyn Dataset>), RunError> {
    if given.in_process.is_some() {
        return usage("probe asks nodes over the network; leave --in-process out");
    }
    if given.network.nodes.as_ref().is_none_or(Vec::is_empty) {
        return usage(DiscoveryError::no_nodes("--nodes").to_string());
    }
    let mut run = given.clone();
    run.scenario.get_or_insert(Scenario::Offline);
    if run.benchmark.is_none() {
        if run.dataset.is_none() {
            return usage(NO_DATA_SET);
        }
        run.benchmark = Some(NAMELESS.into());
    }
    let config = run.resolve_with(names)?;
    let data = config.open_dataset()?;
    // The responses are not compared with the labels, but a run would refuse invalid labels.
    labels::read_labels(&config, data.sample_count())?;
    Ok((config, data))
}

impl ProbeCommand {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        Interruptions::listen()?;
        let names = DnsNames::of(&self.settings);
        let probe = self.settings.resolve(|run| resolve(run, names))?;
        let Some((config, data)) = probe else { return Ok(0) };
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
