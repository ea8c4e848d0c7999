//! What the rules say, asked from the command line: `benchmarks`, `plan`, `check`, `submission`. No LoadGen runs here.

use std::path::{Path, PathBuf};

use netdiv_rules::{
    Outcome, Rule, Scenario,
    benchmarks::text,
    check, plan,
    submission::{self, Settings},
};

use crate::{
    RunError,
    args::table,
    output::{self, say},
    sources::SOURCES,
};

/// Keys of `loadgen-node benchmarks`.
#[derive(Debug, Clone, clap::Args)]
pub struct BenchmarksArgs {
    /// A benchmark, to be shown in full
    name: Option<String>,
    /// Another table of benchmarks than the built-in one, in TOML
    #[arg(long, value_name = "FILE")]
    benchmarks: Option<PathBuf>,
}

/// Shows the table of benchmarks, or one of them.
pub fn benchmarks(args: &BenchmarksArgs) -> Result<(), RunError> {
    let table = table(args.benchmarks.as_deref())?;
    match &args.name {
        None => say(text::list(&table))?,
        Some(name) => match table.find(name) {
            Some(benchmark) => say(text::describe(benchmark))?,
            None => return Err(unknown(name)),
        },
    }
    Ok(())
}

fn unknown(name: &str) -> RunError {
    RunError::Usage(format!("there is no benchmark {name}; `loadgen-node benchmarks` lists all"))
}

/// Keys of `loadgen-node plan`.
#[derive(Debug, Clone, clap::Args)]
pub struct PlanArgs {
    /// The benchmark
    benchmark: String,
    /// offline, server, single-stream or multi-stream
    #[arg(long)]
    scenario: String,
    /// The rate that is hoped for, in samples per second
    #[arg(long, value_name = "SAMPLES_PER_SECOND")]
    rate: f64,
    /// Another table of benchmarks than the built-in one, in TOML
    #[arg(long, value_name = "FILE")]
    benchmarks: Option<PathBuf>,
}

/// Says how long a run takes, how many queries it has, and what it needs.
pub fn plan(args: &PlanArgs) -> Result<(), RunError> {
    let table = table(args.benchmarks.as_deref())?;
    let scenario = Scenario::of_word(&args.scenario).ok_or_else(|| {
        let words = Scenario::ALL.map(Scenario::word).join(", ");
        RunError::Usage(format!("--scenario {}: choose one of {words}", args.scenario))
    })?;
    let plan = plan::plan(&table, &args.benchmark, scenario, args.rate)
        .map_err(|error| RunError::Usage(error.to_string()))?;
    say(plan.text())?;
    Ok(())
}

/// Keys of `loadgen-node check`.
#[derive(Debug, Clone, clap::Args)]
pub struct CheckArgs {
    /// The folder of a run, or the tree of a submission
    path: PathBuf,
    /// Another run or submission, whose network this one is compared with (for an audit)
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Count what cannot be told as broken, but for N37 without --against
    #[arg(long)]
    strict: bool,
    /// Another table of benchmarks than the built-in one, in TOML
    #[arg(long, value_name = "FILE")]
    benchmarks: Option<PathBuf>,
}

/// Goes through the rules of the Network division one by one; whether none is broken.
pub fn check(args: &CheckArgs) -> Result<bool, RunError> {
    let table = table(args.benchmarks.as_deref())?;
    let report = check::check(&args.path, &table, args.against.as_deref())
        .map_err(|error| RunError::Usage(error.to_string()))?;
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&report);
            say(json.map_err(|error| RunError::Failed(error.to_string()))?)?;
        }
        false => say(report.text())?,
    }
    // There is nothing to compare with unless it was named.
    let counts = |rule: &Rule| *rule != Rule::new(37) || args.against.is_some();
    let is_open = |rule: Rule| report.outcome(rule) == Outcome::CannotTell;
    let is_unknown = args.strict && Rule::all().filter(counts).any(is_open);
    Ok(!report.failed() && !is_unknown)
}

/// Keys of `loadgen-node submission`.
#[derive(Debug, Clone, clap::Args)]
pub struct SubmissionArgs {
    /// What the runs are, and what no machine knows; docs/SUBMISSION.md lists the keys
    #[arg(long, value_name = "FILE", default_value = "submission.toml")]
    settings: PathBuf,
    /// Folder for the tree; it must not exist
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Make a tree of the Network division although rules are broken, for practice; the tree says so
    #[arg(long)]
    rehearsal: bool,
    /// Another table of benchmarks than the built-in one, in TOML
    #[arg(long, value_name = "FILE")]
    benchmarks: Option<PathBuf>,
}

/// Makes a submission of runs, or says all that is missing.
pub fn submission(args: &SubmissionArgs) -> Result<(), RunError> {
    if args.output.exists() {
        let output = args.output.display();
        return Err(RunError::Usage(format!(
            "--output {output}: it is there already; choose a new folder"
        )));
    }
    let table = table(args.benchmarks.as_deref())?;
    let problems = |problems: Vec<String>| {
        let list: Vec<_> = problems.iter().map(|problem| format!("  {problem}")).collect();
        RunError::Usage(format!("no submission was made:\n{}", list.join("\n")))
    };
    let settings = Settings::read(&args.settings).map_err(|problem| problems(vec![problem]))?;
    let base = args.settings.parent().unwrap_or(Path::new("."));
    let tree =
        submission::build(&settings, base, &table, SOURCES, args.rehearsal).map_err(problems)?;
    let failed = |error| RunError::Output { path: args.output.display().to_string(), error };
    // Beside its place until it is known that it holds.
    let mut beside = args.output.clone().into_os_string();
    beside.push(".unchecked");
    let beside = PathBuf::from(beside);
    submission::write(&tree, &beside).map_err(failed)?;
    let report =
        check::check(&beside, &table, None).map_err(|error| RunError::Usage(error.to_string()))?;
    if report.failed() && !args.rehearsal {
        std::fs::remove_dir_all(&beside).map_err(failed)?;
        let text = format!(
            "no submission was made; what it would have been breaks rules:\n{}",
            report.text()
        );
        return Err(RunError::Usage(text));
    }
    std::fs::rename(&beside, &args.output).map_err(failed)?;
    output::report(format_args!("{} files in {}", tree.len(), args.output.display()));
    Ok(())
}
