//! `loadgen-node audit`: the compliance tests that a benchmark requires. They run with the settings
//! of its performance run, and are verified against the runs of the submission.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netdiv_node_common::process::absolute;
use netdiv_rules::{
    Mode,
    book::{Benchmark, Test},
    compliance::{self, Reference, Verification},
    record::RunResult,
};
use tracing::info;

use crate::{
    RunError,
    output::{self, say},
    recording::read_unchanged,
    settings::{TableArgs, usage},
};

/// Options of `loadgen-node audit`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tests")]
pub(crate) struct AuditArgs {
    /// Folder of the performance run, whose settings the tests use
    #[arg(long, value_name = "DIR")]
    performance: PathBuf,
    /// Folder of the accuracy run
    #[arg(long, value_name = "DIR")]
    accuracy: PathBuf,
    /// Folder for the tests, one folder each
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Run only these of the benchmark's tests, for instance to repeat one in a new --output
    /// [default: all]
    #[arg(long, value_delimiter = ',')]
    tests: Vec<Test>,
    #[command(flatten)]
    table: TableArgs,
    /// Options of `loadgen-node run` that replace those of the performance run, such as --nodes;
    /// --setting replaces all fields
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

impl AuditArgs {
    /// Runs and verifies the tests. LoadGen exists once per process, so each test runs in a
    /// separate process.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let performance = read_unchanged(&self.performance, Mode::Performance)?;
        let accuracy = read_unchanged(&self.accuracy, Mode::Accuracy)?;
        let of = |run: &RunResult| (run.benchmark.clone(), run.scenario);
        if of(&performance) != of(&accuracy) {
            return usage(format!(
                "the runs differ: the performance run has {} {}, the accuracy run {} {}; give runs of one benchmark and \
                 scenario",
                performance.benchmark, performance.scenario, accuracy.benchmark, accuracy.scenario
            ));
        }
        refuse_own(&self.options)?;
        let table = self.table.read()?;
        let benchmark = table.known(&performance.benchmark).map_err(RunError::Usage)?;
        let tests = select_tests(benchmark, &self.tests)?;
        if tests.is_empty() {
            say(format_args!("{} needs no compliance test", benchmark.name))?;
            return Ok(0);
        }
        let log = self.accuracy.join(output::ACCURACY);
        let summary = self.performance.join(output::SUMMARY);
        let reference = Reference { accuracy_log: &log, summary: &summary };
        let mut settings = performance.settings;
        if let Some(file) = &self.table.benchmarks {
            let file = absolute(&file.display().to_string()).map_err(RunError::Usage)?;
            settings.insert("benchmarks".into(), file.into());
        }
        let mut passed = true;
        for test in tests {
            let folder = self.output.join(test.name());
            run_test(test, benchmark, settings.clone(), &folder, &self.options)?;
            let verified = compliance::verify(test, benchmark, &reference, &folder)
                .map_err(|error| RunError::Failed(format!("{}: {error}", test.name())))?;
            for (name, text) in &verified.files {
                output::write(&folder.join(name), text.as_bytes())?;
            }
            output::report(report(test, &verified, &folder));
            passed &= verified.passed;
        }
        Ok(u8::from(!passed))
    }
}

/// Returns the benchmark's tests, or the requested ones.
fn select_tests(benchmark: &Benchmark, wanted: &[Test]) -> Result<Vec<Test>, RunError> {
    let tests = &benchmark.compliance;
    if let Some(other) = wanted.iter().find(|test| !tests.contains(test)) {
        let names: Vec<_> = tests.iter().map(|test| test.name()).collect();
        let names = if names.is_empty() { "none".into() } else { names.join(", ") };
        return usage(format!("--tests {other}: the tests of {} are {names}", benchmark.name));
    }
    let is_wanted = |test: &&Test| wanted.is_empty() || wanted.contains(test);
    Ok(tests.iter().filter(is_wanted).copied().collect())
}

/// Fails for options that the test itself sets.
fn refuse_own(options: &[String]) -> Result<(), RunError> {
    const OWN: [&str; 4] = ["--output", "--audit-config", "--mode", "--config"];
    let is_own = |option: &&String| OWN.contains(&option.split('=').next().unwrap_or_default());
    match options.iter().find(is_own) {
        Some(own) => usage(format!("{own} is set by the test; leave it out after --")),
        None => Ok(()),
    }
}

/// Runs LoadGen with the test's audit.config.
fn run_test(
    test: Test,
    benchmark: &Benchmark,
    settings: BTreeMap<String, serde_json::Value>,
    folder: &Path,
    options: &[String],
) -> Result<(), RunError> {
    let claim = output::prepare(folder)?;
    let (config, audit_config) = (folder.join("run.toml"), folder.join("audit.config"));
    let mut settings = toml::Table::try_from(settings).map_err(RunError::failed)?;
    settings.retain(|key, _| !["output", "audit_config", "mode"].contains(&key));
    let settings = toml::to_string(&settings).map_err(RunError::failed)?;
    output::write(&config, settings.as_bytes())?;
    output::write(&audit_config, compliance::audit_config(test, benchmark).as_bytes())?;
    // The run claims the folder for itself.
    drop(claim);
    info!(test = test.name(), "running");
    let program = std::env::current_exe().map_err(RunError::failed)?;
    // The test uses the settings of the performance run, not those of this environment.
    let mut run = netdiv_node_common::process::program(&program);
    let status = run
        .arg("run")
        .arg("--config")
        .arg(&config)
        .arg("--output")
        .arg(folder)
        .arg("--audit-config")
        .arg(&audit_config)
        .args(options)
        .status()
        .map_err(RunError::failed)?;
    match status.code() {
        // LoadGen's verdict is part of the verification.
        Some(0 | 1) => Ok(()),
        Some(2) => usage(format!("{}: refused as above; fix it, or repeat the run", test.name())),
        _ => Err(RunError::Failed(format!("{}: the run failed: {status}", test.name()))),
    }
}

fn report(test: Test, verified: &Verification, folder: &Path) -> String {
    let verdict = |passed: bool| if passed { "pass" } else { "FAIL" };
    let mut lines = vec![format!("{}: {}", test.name(), verdict(verified.passed))];
    for (name, part) in [("accuracy", &verified.accuracy), ("performance", &verified.performance)] {
        if let Some(part) = part {
            lines.push(format!("  {name:<12} {}", verdict(part.passed())));
            let parts = [&part.notes, &part.figures, &part.problems, &part.stricter];
            lines.extend(parts.into_iter().flatten().map(|line| format!("    {line}")));
        }
    }
    lines.push(format!("  in {}", folder.display()));
    lines.join("\n")
}
