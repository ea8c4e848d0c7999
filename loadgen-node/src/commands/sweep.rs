//! `loadgen-node sweep`: the curve of throughput and latency.

use netdiv_node_common::process::CommandSettings;

use crate::{
    RunArgs, RunError,
    output::{self, say},
    recording::sweep::{SWEEP, Step, SweepRecord},
    report,
    settings::DnsNames,
    sweep::{self, SweepArgs},
};

/// Arguments of `loadgen-node sweep`.
#[derive(Debug, clap::Args)]
pub(crate) struct SweepCommand {
    #[command(flatten)]
    settings: CommandSettings<RunArgs>,
    #[command(flatten)]
    sweep: SweepArgs,
    /// Continue the sweep in --output: finished steps are kept
    #[arg(long, help_heading = "Sweep")]
    resume: bool,
}

/// Names of the files in the sweep's folder besides the record.
const TABLE: &str = "sweep.csv";
const PAGE: &str = "report.html";

impl SweepCommand {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let names = DnsNames::of(&self.settings);
        let settings = self.settings.resolve(|run| self.sweep.resolve(run, names))?;
        let Some(settings) = settings else { return Ok(0) };
        let folder = &settings.output;
        let save = |record: &SweepRecord| {
            let json = serde_json::to_vec_pretty(record).map_err(RunError::failed)?;
            output::write(&folder.join(TABLE), report::sweep::csv(record)?.as_bytes())?;
            output::write(&folder.join(PAGE), report::page::sweep(record).as_bytes())?;
            output::write(&folder.join(SWEEP), &json)
        };
        let record = sweep::run(&settings, self.resume, &save)?;
        say(report::sweep::render(&record))?;
        output::report(folder.join(PAGE).display());
        Ok(u8::from(!record.steps.iter().any(Step::has_passed)))
    }
}
