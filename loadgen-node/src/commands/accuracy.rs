//! `loadgen-node accuracy`: the official script's figures for an accuracy run.

use std::path::{Path, PathBuf};

use netdiv_rules::{
    Mode,
    book::{Benchmark, Table},
};

use crate::{
    RunError,
    evaluation::{Environment, Evaluation, check_options, evaluate, try_out},
    output::{self, say},
    record::{RunResult, Verdict},
    recording::read_unchanged,
    run::outcome::accuracy::{self, OfficialScript},
    settings::{TableArgs, usage},
};

/// Keys of `loadgen-node accuracy`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Script")]
pub(crate) struct AccuracyArgs {
    /// Folder of the accuracy run
    #[arg(required_unless_present = "check")]
    run: Option<PathBuf>,
    /// Only say whether the script has all that it needs and all options, before there is a run
    #[arg(long, requires = "benchmark", conflicts_with = "run")]
    check: bool,
    /// The benchmark, for --check
    #[arg(long, value_name = "NAME", requires = "check")]
    benchmark: Option<String>,
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
        match (&self.run, &self.benchmark) {
            (Some(run), _) => self.evaluate(run),
            (None, Some(name)) => {
                let unknown = || {
                    let table = self.table.read()?;
                    unknown(&table, name)
                };
                let script = accuracy::script(name).map_or_else(unknown, Ok)?;
                check_options(script, &self.reference, &self.options)?;
                if let Some(trial) = &script.trial {
                    try_out(script, trial, &self.reference, &self.environment(script)?)?;
                }
                Ok(0)
            }
            (None, None) => usage("no run; give the folder of an accuracy run"),
        }
    }

    fn environment(&self, script: &OfficialScript) -> Result<Environment, RunError> {
        match &self.python {
            Some(folder) => Environment::given(folder),
            None => Environment::of(script),
        }
    }

    fn evaluate(&self, folder: &Path) -> Result<u8, RunError> {
        let run = read_unchanged(folder, Mode::Accuracy)?;
        let log = whole(folder, &run)?;
        let table = self.table.read()?;
        let known = accuracy::script(&run.benchmark).zip(table.find(&run.benchmark));
        let (script, benchmark): (&OfficialScript, &Benchmark) =
            known.map_or_else(|| unknown(&table, &run.benchmark), Ok)?;
        let Evaluation { file, metrics } = evaluate(
            script,
            (folder, log, run.dataset_samples),
            benchmark,
            &self.reference,
            || self.environment(script),
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

fn unknown<T>(table: &Table, benchmark: &str) -> Result<T, RunError> {
    let meant = table.meant(benchmark);
    usage(format!("no official script is known for {benchmark}{meant}"))
}

/// The SHA-256 of a run's accuracy log. Refuses a run that lacks answers.
fn whole<'a>(folder: &Path, run: &'a RunResult) -> Result<&'a str, RunError> {
    let wrong = |why: &str| {
        let reasons = run.reasons.join("; ");
        usage(format!("{}: {why} {reasons}; make the accuracy run again", folder.display()))
    };
    match (run.mode, run.verdict) {
        (_, Verdict::Failed) => return wrong("the run failed:"),
        // A run in mode submission may be too slow and have the right answers all the same.
        (Mode::Accuracy, Verdict::Invalid) => return wrong("the run is INVALID:"),
        _ => {}
    }
    match run.logs.get(output::ACCURACY) {
        Some(digest) => Ok(digest),
        None => wrong("its record does not name the accuracy log"),
    }
}
