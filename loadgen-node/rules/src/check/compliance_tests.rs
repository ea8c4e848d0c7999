//! N34: the compliance tests were made with their settings, and pass (policies and official checker).

use netdiv_words::Mode;
use std::path::Path;

use super::{
    checked_folder::{Entry, Kind, Run, Subject, Tree},
    findings::Findings,
};
use crate::{
    Rule,
    book::{Benchmark, Test},
    compliance::{Reference, baseline_agrees, verify},
    facts::files,
    official_log::{self, DetailLog},
    result::RunResult,
    tree::{ACCURACY_LOG, Place, SUMMARY, VERIFY_ACCURACY, VERIFY_PERFORMANCE},
};

const N34: Rule = Rule::new(34);

/// How far TEST01's speed may be from the submitted one.
const MARGIN: f64 = 0.10;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let Some(benchmark) = entry.benchmark else {
            found.unknown(N34, &entry.place, "the table has no tests for the benchmark (N1)");
            continue;
        };
        if subject.is_open() {
            found.pass(N34, &entry.place, "no compliance test is asked of the Open division");
        } else {
            tests(subject, entry, benchmark, found);
        }
    }
}

fn tests(subject: &Subject, entry: &Entry, benchmark: &Benchmark, found: &mut Findings) {
    let (Some(tree), Some(place)) = (&subject.tree, &entry.tree) else {
        let text = match benchmark.compliance.as_slice() {
            [] => return found.pass(N34, "", format!("{} needs no test", benchmark.name)),
            tests => {
                let names: Vec<_> = tests.iter().map(|test| test.name()).collect();
                format!(
                    "{} needs {}: make those runs, and a submission of all of them",
                    benchmark.name,
                    names.join(", ")
                )
            }
        };
        return found.unknown(N34, "", text);
    };
    if benchmark.compliance.is_empty() {
        found.pass(N34, &entry.place, format!("{} needs no test", benchmark.name));
    }
    for test in &benchmark.compliance {
        let folder = place.compliance(test.name());
        if !tree.path(&folder).is_dir() {
            let text = format!(
                "is missing: make {test}, which {} needs, with loadgen-node audit, and name its folder in compliance of \
                 submission.toml",
                benchmark.name
            );
            found.fail(N34, folder, text);
            continue;
        }
        let before = found.problems(N34);
        verdicts(tree, place, *test, benchmark, found);
        if let Some(run) = entry.run(&Kind::Test(test.name().into())) {
            used(tree, place, *test, benchmark, run, found);
            if let Some(reference) = entry.run(&Kind::Performance) {
                speed(&folder, *test, benchmark, reference, run, found);
            }
        }
        let text = "every test that the benchmark needs was made with its settings, and passes";
        found.pass_unless_more(N34, before, folder, text);
    }
}

/// What the verification wrote down.
pub(super) fn verdicts(
    tree: &Tree,
    place: &Place,
    test: Test,
    benchmark: &Benchmark,
    found: &mut Findings,
) {
    let folder = place.compliance(test.name());
    let text = |name: &str| files::read_to_string(&tree.path(&format!("{folder}/{name}")));
    let says = |text: &str, line: &str| text.lines().any(|found| found.trim() == line);
    let mut wrong = |what: String| found.fail(N34, &folder, what);
    if test != Test::Test06 {
        match text(VERIFY_PERFORMANCE) {
            Ok(text) if text.contains("TEST PASS") => {}
            Ok(text) => wrong(format!("{VERIFY_PERFORMANCE} does not say TEST PASS{}", why(&text))),
            Err(error) => wrong(format!("{VERIFY_PERFORMANCE} cannot be read: {error}")),
        }
    }
    if test == Test::Test04 {
        return;
    }
    match (test, text(VERIFY_ACCURACY)) {
        (_, Err(error)) => wrong(format!("{VERIFY_ACCURACY} cannot be read: {error}")),
        (Test::Test06, Ok(text)) => {
            let first = ["True", "Skipped"]
                .iter()
                .any(|word| says(&text, &format!("First token check pass: {word}")));
            let others = ["EOS check pass: True", "Sample length check pass: True"];
            if !(first && others.iter().all(|line| says(&text, line))) {
                let why = why(&text);
                wrong(format!("{VERIFY_ACCURACY} does not say that all three checks passed{why}"));
            }
        }
        (_, Ok(text)) if text.contains("TEST PASS") => {}
        (_, Ok(text)) => {
            let accuracy = tree.path(&place.compliance_accuracy(test.name()));
            if let Err(scores) = scores_agree(&accuracy, benchmark) {
                wrong(format!(
                    "{VERIFY_ACCURACY} does not say TEST PASS{}. Where the benchmark is not deterministic, score the same \
                     samples of both runs and put the official script's outputs into its folder: {scores}",
                    why(&text)
                ));
            }
        }
    }
}

/// What a verification says of a failure.
fn why(text: &str) -> String {
    let mark = "TEST FAIL: ";
    let failed = text.lines().filter_map(|line| line.strip_prefix(mark));
    let of_test06 =
        text.lines().skip_while(|line| !line.starts_with("TEST06 verification")).skip(1);
    let reasons: Vec<_> = failed.chain(of_test06).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) }
}

/// The way out of TEST01 for a benchmark that is not deterministic.
fn scores_agree(accuracy: &Path, benchmark: &Benchmark) -> Result<(), String> {
    let files = ["baseline_accuracy.txt", "compliance_accuracy.txt"];
    let [baseline, compliance] = files.map(|name| accuracy.join(name));
    let part = baseline_agrees(&baseline, &compliance, benchmark)
        .map_err(|error| error.problems().join("; "))
        .map_err(|why| format!("the scores of the same samples cannot be compared: {why}"))?;
    let problems = [part.problems.as_slice(), &part.stricter].concat();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// The run was made with the test's settings, by LoadGen's own log.
fn used(
    tree: &Tree,
    place: &Place,
    test: Test,
    benchmark: &Benchmark,
    run: &Run,
    found: &mut Findings,
) {
    let folder = &place.compliance(test.name());
    let Some(detail) = run.detail() else {
        let why = match run.logs.as_ref().map(|logs| &logs.detail) {
            Some(Err(why)) => why.clone(),
            // The official checker asks for no detail log of TEST06.
            _ if test == Test::Test06 && has_sampled(tree, place, run) => return,
            _ => "its logs are not there".into(),
        };
        let text = format!("which settings it was made with is not known: {why}");
        return match test {
            Test::Test06 => found.unknown(N34, folder, text),
            _ => found.fail(N34, folder, text),
        };
    };
    let sampled = if test == Test::Test06 { 100 } else { u64::from(benchmark.sampling) };
    let wanted: &[(&str, u64)] = match test {
        Test::Test01 | Test::Test06 => &[
            ("effective_accuracy_log_sampling_target", sampled),
            ("effective_accuracy_log_rng_seed", 720_381_539_243_781_796),
        ],
        Test::Test04 => &[
            ("effective_performance_issue_same", 1),
            ("effective_performance_issue_same_index", 3),
            ("effective_performance_issue_unique", 0),
        ],
    };
    for (key, want) in wanted {
        let value = number(detail, key);
        if value != Some(*want) {
            let value = value.map_or_else(|| "missing".into(), |value| value.to_string());
            let text = format!(
                "{key} is {value}, not {want}: the run was not made with the audit.config of {test}"
            );
            found.fail(N34, folder, text);
        }
    }
}

/// TEST06's accuracy log is the whole one of its run in performance mode: without the test's settings LoadGen would have
/// logged no response.
fn has_sampled(tree: &Tree, place: &Place, run: &Run) -> bool {
    let path = tree.path(&format!("{}/{ACCURACY_LOG}", place.compliance_accuracy("TEST06")));
    let is_that_of = |record: &RunResult| {
        record.mode == Mode::Performance
            && files::sha256(&path).is_ok_and(|hash| record.logs.get(ACCURACY_LOG) == Some(&hash))
    };
    let has_entries =
        || files::read_to_string(&path).is_ok_and(|text| text.contains("\"token_data\""));
    run.result().is_some_and(is_that_of) && has_entries()
}

/// A switch counts as 0 or 1.
fn number(detail: &DetailLog, key: &str) -> Option<u64> {
    let value = detail.value(key)?;
    value.as_u64().or_else(|| value.as_bool().map(u64::from))
}

/// The speeds in LoadGen's logs, whatever was written down.
fn speed(
    folder: &str,
    test: Test,
    benchmark: &Benchmark,
    reference: &Run,
    run: &Run,
    found: &mut Findings,
) {
    match test {
        Test::Test01 => {
            let rate = |run: &Run| {
                let detail = run.detail()?;
                let scenario =
                    crate::Scenario::of_official_name(detail.text("effective_scenario")?);
                official_log::metric(scenario?, detail).map(|metric| metric.value)
            };
            let (Some(reference), Some(seen)) = (rate(reference), rate(run)) else { return };
            let off = seen / reference - 1.0;
            if off.abs() >= MARGIN {
                let text = format!(
                    "by LoadGen's logs its speed is {:+.1} % off the submitted one; 10 % is the \
                     margin",
                    off * 100.0
                );
                found.fail(N34, folder, text);
            }
        }
        Test::Test04 => {
            let (log, summary) =
                (reference.folder.join(ACCURACY_LOG), reference.folder.join(SUMMARY));
            let reference = Reference { accuracy_log: &log, summary: &summary };
            match verify(test, benchmark, &reference, &run.folder) {
                Ok(verified) if verified.passed => {}
                Ok(verified) => {
                    let problems = verified
                        .performance
                        .map(|part| [part.problems.as_slice(), &part.stricter].concat().join("; "));
                    let text = format!("by LoadGen's logs: {}", problems.unwrap_or_default());
                    found.fail(N34, folder, text);
                }
                Err(error) => found.fail(N34, folder, error.to_string()),
            }
        }
        Test::Test06 => {}
    }
}
