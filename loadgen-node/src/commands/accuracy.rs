//! `loadgen-node accuracy`: the metrics of an accuracy run, computed by the official script.

use std::path::{Path, PathBuf};

use netdiv_rules::{
    Mode,
    book::{Benchmark, Table},
};

use crate::{
    RunError,
    evaluation::{
        Environment, Scorer, check_files, check_options, check_reference_data, check_submodules,
        try_out,
    },
    output::{self, say},
    record::{RunResult, Verdict},
    recording::read_unchanged,
    run::outcome::accuracy::{self, OfficialScript},
    settings::{TableArgs, usage},
};

/// Options of `loadgen-node accuracy`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Script")]
pub(crate) struct AccuracyArgs {
    /// Folder of the accuracy run
    #[arg(required_unless_present = "check")]
    run: Option<PathBuf>,
    /// Only check that the script has all that it needs, and all options, before there is a run
    #[arg(long, requires = "benchmark", conflicts_with = "run")]
    check: bool,
    /// Name of the benchmark, for --check
    #[arg(long, value_name = "NAME", requires = "check")]
    benchmark: Option<String>,
    /// Checkout of mlcommons/inference for the round, which contains the script;
    /// docs/SUBMISSION.md lists tags
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// Virtual environment that has the script's packages [default: a separate one in
    /// ~/.cache/netdiv/accuracy; the first use creates it and fetches the packages]
    #[arg(long, value_name = "DIR")]
    python: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
    /// Options of the script that the run does not know, such as the folder of the annotations; an
    /// error names the missing ones
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

impl AccuracyArgs {
    /// Runs the script. Returns exit code 1 if a target is missed.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        if let Some(run) = &self.run {
            return self.evaluate(run);
        }
        // An option of --check, which stands in place of the run.
        let name = self.benchmark.as_deref().unwrap_or_default();
        let Some(script) = accuracy::script(name) else {
            let table = self.table.read()?;
            return unknown(&table, name);
        };
        self.check(script)?;
        if script.trial.is_some() {
            let environment = Environment::of(script, self.python.as_deref())?;
            try_out(script, &self.reference, &environment)?;
        }
        Ok(0)
    }

    /// Fails if the checkout or the options lack something.
    fn check(&self, script: &OfficialScript) -> Result<(), RunError> {
        check_options(script, &self.reference, &self.options, "add: --")?;
        check_submodules(script, &self.reference)
    }

    fn evaluate(&self, folder: &Path) -> Result<u8, RunError> {
        let run = read_unchanged(folder, Mode::Accuracy)?;
        let log = accuracy_log_digest(folder, &run)?;
        let table = self.table.read()?;
        let known = accuracy::script(&run.benchmark).zip(table.find(&run.benchmark));
        let (script, benchmark): (&'static OfficialScript, &Benchmark) =
            known.map_or_else(|| unknown(&table, &run.benchmark), Ok)?;
        self.check(script)?;
        check_files(script, folder, &self.reference, &self.options)?;
        let dataset = run.settings.get("dataset").and_then(|dataset| dataset.as_str());
        if let Some((dataset, part)) = dataset.zip(run.dataset_part) {
            check_reference_data(&self.options, dataset, part.name)?;
        }
        let environment = Environment::of(script, self.python.as_deref())?;
        try_out(script, &self.reference, &environment)?;
        let (reference, given) = (self.reference.clone(), &self.options);
        let scorer = Scorer { script, benchmark, reference, given, environment };
        let (file, metrics) = scorer.evaluate(folder, log)?;
        say(file.display())?;
        for (metric, value) in &metrics {
            say(format_args!("  {metric} {value}"))?;
        }
        let missed = benchmark.missed_targets(&metrics);
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

/// Returns the SHA-256 of a run's accuracy log. Fails for a run that lacks responses.
fn accuracy_log_digest<'a>(folder: &Path, run: &'a RunResult) -> Result<&'a str, RunError> {
    let wrong = |why: &str| {
        let reasons = run.reasons.join("; ");
        usage(format!("{}: {why} {reasons}; repeat the accuracy run", folder.display()))
    };
    match (run.mode, run.verdict) {
        (_, Verdict::Failed) => return wrong("the run failed:"),
        // A run in mode submission may be too slow and still have the right responses.
        (Mode::Accuracy, Verdict::Invalid) => return wrong("the run is INVALID:"),
        _ => {}
    }
    match run.logs.get(output::ACCURACY) {
        Some(digest) => Ok(digest),
        None => wrong("its record does not name the accuracy log"),
    }
}
