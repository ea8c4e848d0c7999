//! `loadgen-node audit`: the compliance tests that a benchmark requires. They run with the settings
//! of its performance run, and are verified against the runs of the submission.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{self, Path, PathBuf},
};

use netdiv_dataset::{has_part, has_parts};
use netdiv_node_common::{process::absolute, words::PartName};
use netdiv_rules::{
    Mode,
    book::{Benchmark, Test},
    compliance::{self, Part, Reference, Verification},
    record::RunResult,
};
use serde_json::Value;
use tracing::info;

use crate::{
    RunError, child_run,
    evaluation::{
        Environment, OfficialTest, Scorer, check_files, check_named_files, check_options,
        check_reference_data, check_submodules, option_value,
    },
    output::{self, say},
    recording::read_unchanged,
    run::outcome::accuracy,
    settings::{TableArgs, usage},
};

/// Heading of options in the help.
const SCRIPTS: &str = "Official scripts";

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
    /// Checkout of mlcommons/inference for the round, whose scripts verify TEST07 and TEST09. In
    /// TEST01, its accuracy script compares the scores of both runs if responses differ
    #[arg(long, value_name = "DIR", help_heading = SCRIPTS)]
    reference: Option<PathBuf>,
    /// Virtual environment that has the accuracy script's packages [default: that of `accuracy`]
    #[arg(long, value_name = "DIR", requires = "reference", help_heading = SCRIPTS)]
    python: Option<PathBuf>,
    /// Option of the accuracy script, such as --tokenizer=DIR; repeat it for each. An error names the
    /// missing ones
    #[arg(long, value_name = "OPTION", requires = "reference", help_heading = SCRIPTS)]
    #[arg(allow_hyphen_values = true)]
    script_option: Vec<String>,
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
        let scripts = self.scripts(benchmark, &tests)?;
        if tests.contains(&Test::Test07) {
            let dataset = dataset(&performance.settings, &self.options);
            check_reference_data(&self.script_option, dataset, PartName::Test07)?;
        }
        let log = self.accuracy.join(output::ACCURACY);
        let summary = self.performance.join(output::SUMMARY);
        let reference = Reference { accuracy_log: &log, summary: &summary };
        let mut settings = performance.settings;
        if option_value(&self.options, "--dataset").is_some() {
            // It is a part of the recorded data set.
            settings.remove("dataset_part");
        }
        if let Some(file) = &self.table.benchmarks {
            let file = absolute(&file.display().to_string()).map_err(RunError::Usage)?;
            settings.insert("benchmarks".into(), file.into());
        }
        let mut passed = true;
        for test in tests {
            let folder = self.output.join(test.name());
            run_test(test, benchmark, settings.clone(), &folder, &self.options)?;
            if let Some((scorer, official)) = &scripts
                && let Some(official) = official.iter().find(|official| official.test == test)
            {
                official.verify(&folder, scorer)?;
            }
            let verified = compliance::verify(test, benchmark, &reference, &folder)
                .map_err(|error| RunError::Failed(format!("{}: {error}", test.name())))?;
            for (name, text) in &verified.files {
                output::write(&folder.join(name), text.as_bytes())?;
            }
            let differs = |part: &Part| test == Test::Test01 && !part.passes_script();
            let differs = verified.accuracy.as_ref().is_some_and(differs);
            let scores = match &scripts {
                Some((scorer, _)) if differs => Some(scorer.compare(&self.accuracy, &folder)?),
                _ => None,
            };
            output::report(report(test, &verified, scores.as_ref(), &folder));
            if differs && scores.is_none() {
                output::report(
                    "  if the benchmark is not deterministic, repeat TEST01 with --reference, which compares the scores of both runs",
                );
            }
            passed &= has_passed(&verified, scores.as_ref());
        }
        Ok(u8::from(!passed))
    }

    /// Returns the official scripts that the tests use, with all that they need: the accuracy script,
    /// and the verification of each test that has one. `None` without --reference, which some tests
    /// require.
    fn scripts<'a>(
        &'a self,
        benchmark: &'a Benchmark,
        tests: &[Test],
    ) -> Result<Option<(Scorer<'a>, Vec<OfficialTest>)>, RunError> {
        let needing: Vec<_> = tests.iter().copied().filter(|test| test.needs_script()).collect();
        let has_two_runs = tests.contains(&Test::Test01);
        let Some(reference) = &self.reference else {
            return match needing[..] {
                [] => Ok(None),
                [test, ..] => usage(format!(
                    "official scripts verify {test} of {}: add --reference DIR, a checkout of mlcommons/inference for the round \
                     (docs/SUBMISSION.md)",
                    benchmark.name
                )),
            };
        };
        let script = accuracy::script(&benchmark.name);
        let Some(script) = script.filter(|_| has_two_runs || !needing.is_empty()) else {
            return usage(format!(
                "--reference: these tests of {} use no official script; leave it out",
                benchmark.name
            ));
        };
        let (reference, given) =
            (path::absolute(reference).map_err(RunError::failed)?, &self.script_option);
        let find = |test: &Test| OfficialTest::find(*test, benchmark, &reference);
        let official = needing.iter().map(find).collect::<Result<_, _>>()?;
        let has_scores = has_two_runs || needing.contains(&Test::Test07);
        if has_scores {
            let remedy = "add each as --script-option=OPTION=VALUE:";
            check_options(script, &reference, given, remedy)?;
            check_named_files(script, given)?;
        }
        if has_two_runs {
            check_submodules(script, &reference)?;
            check_files(script, &self.accuracy, &reference, given)?;
        }
        let environment = match has_scores || self.python.is_some() {
            true => Environment::of(script, self.python.as_deref())?,
            // The verification of TEST09 needs no package.
            false => Environment::default(),
        };
        Ok(Some((Scorer { script, benchmark, reference, given, environment }, official)))
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

/// Returns the data set of the options, or else that of the performance run.
fn dataset<'a>(settings: &'a BTreeMap<String, Value>, options: &'a [String]) -> &'a str {
    let recorded = || settings.get("dataset").and_then(Value::as_str);
    option_value(options, "--dataset").or_else(recorded).unwrap_or("unknown")
}

/// Sets the part of the settings that TEST07 has of its own: its data set, and the number of samples
/// that LoadGen loads.
fn set_own_data(
    settings: &mut BTreeMap<String, Value>,
    samples: u64,
    options: &[String],
) -> Result<(), RunError> {
    let dataset = dataset(settings, options);
    if has_part(dataset, PartName::Test07)? {
        settings.insert("dataset_part".into(), Test::Test07.name().into());
    } else if option_value(options, "--dataset").is_none() || has_parts(dataset) {
        return usage(format!(
            "TEST07 has its own data set of {samples} samples, and {dataset} has no part TEST07: add --tests TEST07 -- --dataset FILE"
        ));
    }
    // LoadGen's mlperf.conf has the number of the performance run.
    info!(
        "TEST07 runs with performance_sample_count_override = {samples}: with the number of the performance run, LoadGen would \
         make no query in Offline"
    );
    settings.insert("performance_samples".into(), samples.into());
    Ok(())
}

/// Runs LoadGen with the test's audit.config.
fn run_test(
    test: Test,
    benchmark: &Benchmark,
    mut settings: BTreeMap<String, Value>,
    folder: &Path,
    options: &[String],
) -> Result<(), RunError> {
    if test == Test::Test07
        && let Some(samples) = benchmark.test_samples(test)
    {
        set_own_data(&mut settings, samples, options)?;
    }
    let claim = output::prepare(folder)?;
    let audit_config = folder.join("audit.config");
    output::write(&audit_config, compliance::audit_config(test, benchmark).as_bytes())?;
    let own = ["--audit-config".into(), audit_config.into()];
    let options = own.into_iter().chain(options.iter().map(OsString::from));
    let mut run = child_run::command(settings, folder, options)?;
    // The run claims the folder for itself.
    drop(claim);
    info!(test = test.name(), "running");
    let status = run.status().map_err(RunError::failed)?;
    match status.code() {
        // LoadGen's verdict is part of the verification.
        Some(0 | 1) => Ok(()),
        Some(2) => usage(format!("{}: refused as above; fix it, or repeat the run", test.name())),
        _ => Err(RunError::Failed(format!("{}: the run failed: {status}", test.name()))),
    }
}

/// Returns true if netdiv passes the test. Equal scores of both runs replace equal responses.
fn has_passed(verified: &Verification, scores: Option<&Part>) -> bool {
    let Some(scores) = scores else { return verified.passed };
    let is_complete = |part: &Part| part.stricter.is_empty();
    scores.passed()
        && verified.accuracy.iter().all(is_complete)
        && verified.performance.iter().all(Part::passed)
}

fn report(test: Test, verified: &Verification, scores: Option<&Part>, folder: &Path) -> String {
    let verdict = |passed: bool| if passed { "pass" } else { "FAIL" };
    let mut lines = vec![format!("{}: {}", test.name(), verdict(has_passed(verified, scores)))];
    let (responses, performance) = (verified.accuracy.as_ref(), verified.performance.as_ref());
    for (name, part) in [("accuracy", responses), ("scores", scores), ("performance", performance)]
    {
        if let Some(part) = part {
            lines.push(format!("  {name:<12} {}", verdict(part.passed())));
            let parts = [&part.notes, &part.figures, &part.problems, &part.stricter];
            lines.extend(parts.into_iter().flatten().map(|line| format!("    {line}")));
        }
    }
    lines.push(format!("  in {}", folder.display()));
    lines.join("\n")
}
