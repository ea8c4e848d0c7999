//! `loadgen-node nodes`: the identity of the nodes.

use netdiv_machine::{
    doctor::{Facts, ReportArgs, identify},
    evidence::System,
};
use netdiv_node_common::process::CommandSettings;

use super::doctor::write_report;
use crate::{NetworkArgs, RunError, doctor, report, run::Interruptions, settings::DnsNames};

/// Arguments of `loadgen-node nodes`.
#[derive(Debug, clap::Args)]
pub(crate) struct NodesCommand {
    #[command(flatten)]
    settings: CommandSettings<NetworkArgs>,
    #[command(flatten)]
    report: ReportArgs,
}

impl NodesCommand {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        Interruptions::listen()?;
        let names = DnsNames::of(&self.settings);
        let settings = self.settings.resolve(|args| args.resolve(names))?;
        let Some(settings) = settings else { return Ok(0) };
        let asked = doctor::survey(&settings)?;
        let peers = doctor::peers(&asked);
        let report = identify(&Facts::of(System::default().identity()), doctor::PROGRAM, &peers);
        let report = report.with_nodes(doctor::nodes(&asked), None);
        let known = asked.iter().filter_map(|one| one.answer.as_ref().ok());
        let mut parts: Vec<_> = known.map(|node| report::nodes::render(node) + "\n").collect();
        parts.push(report.to_string());
        write_report(&self.report, &report, parts.join("\n"))
    }
}
