//! `loadgen-node accuracy`: the official script's figures for an accuracy run.

use std::path::PathBuf;

use netdiv_rules::Mode;

use crate::{
    RunError,
    evaluation::{Environment, Evaluation, evaluate},
    output::say,
    recording::unchanged,
    result::Verdict,
    run::accuracy,
    settings::{TableArgs, usage},
};

/// Keys of `loadgen-node accuracy`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Script")]
pub struct AccuracyArgs {
    /// Folder of the accuracy run
    run: PathBuf,
    /// A checkout of mlcommons/inference, of the round's tag (v5.0.1, v5.1.1), which has the script
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// A virtual environment that has the script's packages [default: one of its own in ~/.cache/netdiv/accuracy, made at the first
    /// use; the packages are fetched]
    #[arg(long, value_name = "DIR")]
    python: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
    /// Options of the script that no run knows, such as the folder of the annotations; it is said which are needed
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

impl AccuracyArgs {
    /// Runs the script. Exit code 1 where a target is missed.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let run = unchanged::read(&self.run, Mode::Accuracy)?;
        // A run in mode submission may be too slow and have the right answers all the same.
        let is_whole = match run.mode {
            Mode::Accuracy => run.verdict == Verdict::Complete,
            _ => run.verdict != Verdict::Failed,
        };
        if !is_whole {
            return usage(format!(
                "{}: {}: {}; make the accuracy run again",
                self.run.display(),
                if run.verdict == Verdict::Failed {
                    "the run failed"
                } else {
                    "the run is INVALID"
                },
                run.reasons.join("; ")
            ));
        }
        let table = self.table.read()?;
        let (Some(script), Some(benchmark)) =
            (accuracy::script(&run.benchmark), table.find(&run.benchmark))
        else {
            return usage(format!("no official script is known for {}", run.benchmark));
        };
        let environment = || match &self.python {
            Some(folder) => Environment::given(folder),
            None => Environment::of(script),
        };
        let Evaluation { file, metrics } = evaluate(
            script,
            (&self.run, &run),
            benchmark,
            &self.reference,
            environment,
            &self.options,
        )?;
        say(file.display())?;
        for (metric, value) in &metrics {
            say(format_args!("  {metric} {value}"))?;
        }
        let missed = benchmark.missed(&metrics);
        for why in &missed {
            say(format_args!("  {why}"))?;
        }
        Ok(u8::from(!missed.is_empty()))
    }
}
