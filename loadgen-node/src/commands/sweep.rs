//! `loadgen-node sweep`: the curve of throughput and latency.

use netdiv_node_common::process::CommandSettings;

use crate::{
    RunArgs, RunError,
    output::{self, say},
    recording::{
        RecordedRun,
        sweep::{SWEEP, Step, SweepRecord},
    },
    report::{self, page::PAGE},
    run::Interruptions,
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

/// Name of the table in the sweep's folder.
const TABLE: &str = "sweep.csv";

impl SweepCommand {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let names = DnsNames::of(&self.settings);
        let settings = self.settings.resolve(|run| self.sweep.resolve(run, names))?;
        let Some(settings) = settings else { return Ok(0) };
        let interruptions = Interruptions::listen()?;
        let folder = &settings.output;
        let save = |record: &SweepRecord, run: Option<&RecordedRun>| {
            run.map_or(Ok(()), write_page)?;
            let json = serde_json::to_vec_pretty(record).map_err(RunError::failed)?;
            output::write(&folder.join(TABLE), report::sweep::csv(record)?.as_bytes())?;
            let page = folder.join(PAGE);
            output::write(&page, report::page::sweep(record, folder, &page)?.as_bytes())?;
            output::write(&folder.join(SWEEP), &json)
        };
        let record = sweep::run(&settings, self.resume, &interruptions, &save)?;
        say(report::sweep::render(&record))?;
        output::report(folder.join(PAGE).display());
        Ok(u8::from(!record.steps.iter().any(Step::has_passed)))
    }
}

/// Writes the page of a step, unless it exists.
fn write_page(run: &RecordedRun) -> Result<(), RunError> {
    let page = run.folder.join(PAGE);
    if page.exists() {
        return Ok(());
    }
    output::write(&page, report::page::run(run)?.as_bytes())
}
