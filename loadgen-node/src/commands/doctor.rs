//! `loadgen-node doctor`: causes of bad measurements on this machine and on the routes to the
//! nodes.

use netdiv_machine::{
    doctor::{Facts, Report, ReportArgs, examine},
    evidence::System,
};
use netdiv_node_common::process::CommandSettings;
use netdiv_qdl::Settings;
use netdiv_rules::Scenario;

use crate::{
    RunArgs, RunConfig, RunError, doctor,
    output::{self, say},
    run::{Interruptions, prepare},
    settings::{DnsNames, Target, usage},
};

/// Arguments of `loadgen-node doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorCommand {
    #[command(flatten)]
    settings: CommandSettings<RunArgs>,
    #[command(flatten)]
    report: ReportArgs,
}

/// Placeholder if no node is named, because the settings of a run require one. It is never asked.
const PLACEHOLDER_NODE: &str = "localhost:1";

/// Returns the settings of the connections, the cores for their threads, and the settings of a run
/// if a benchmark is named.
fn resolve(
    given: &RunArgs,
    names: DnsNames,
) -> Result<(Settings, Vec<usize>, Option<RunConfig>), RunError> {
    if given.in_process.is_some() {
        return usage("doctor examines runs over the network; leave --in-process out");
    }
    let mut args = given.clone();
    let is_alone = args.network.nodes.is_none();
    if is_alone {
        args.network.nodes = Some(vec![PLACEHOLDER_NODE.into()]);
    }
    let pin = args.network.pin.clone().unwrap_or_default();
    let run = match &args.benchmark {
        None => None,
        Some(_) => {
            args.scenario.get_or_insert(Scenario::Offline);
            Some(args.resolve_with(names)?)
        }
    };
    let mut settings = match run.as_ref().map(|run| &run.target).and_then(Target::nodes) {
        Some(settings) => settings.clone(),
        None => args.network.resolve(names)?,
    };
    if is_alone {
        settings.nodes.clear();
    }
    Ok((settings, pin, run))
}

/// Writes and prints a report, and returns the exit code.
pub(super) fn write_report(
    args: &ReportArgs,
    report: &Report,
    text: String,
) -> Result<u8, RunError> {
    let (text, code) =
        args.put(report, text).map_err(|failed| output::unwritten(&failed.path, failed.error))?;
    say(text)?;
    Ok(code)
}

impl DoctorCommand {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        Interruptions::listen()?;
        let names = DnsNames::of(&self.settings);
        let looked: Result<_, RunError> = self.settings.resolve(|run| {
            let (settings, pin, mut run) = resolve(run, names)?;
            // If settings are only printed, an invalid one is not a finding: it ends the command.
            if self.settings.only_prints() {
                run.take().map(prepare).transpose()?;
            }
            Ok((settings, pin, run))
        });
        let Some((settings, pin, run)) = looked? else { return Ok(0) };
        let asked = doctor::survey(&settings)?;
        let peers = doctor::peers(&asked);
        let needs = doctor::needs(&settings, pin, &peers);
        let report = examine(&Facts::read(&System::default()), &needs, &peers);
        let send = |run: &RunConfig| doctor::send(run, run.open_dataset()?, &settings, &asked);
        let sent = run.as_ref().filter(|_| !asked.is_empty()).map(send).transpose();
        let (sent, wrong) = sent.map_or_else(|error| (None, Some(error)), |sent| (sent, None));
        let (nodes, sample) = match sent {
            Some((nodes, sample)) => (nodes, Some(sample)),
            None => (doctor::nodes(&asked), None),
        };
        let report = report.with_nodes(nodes, sample);
        let report = report.with(run.map(|run| doctor::findings(run, wrong)).unwrap_or_default());
        write_report(&self.report, &report, report.to_string())
    }
}
