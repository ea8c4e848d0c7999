//! N34: the compliance tests were made with their settings, and pass (policies and official checker).

use netdiv_words::Mode;
use std::path::Path;

use super::{
    checked_folder::{Entry, Kind, NO_BENCHMARK, Run, Subject, Tree},
    findings::{At, Findings},
    verified,
};
use crate::{
    Rule::N34,
    book::{Benchmark, Test},
    compliance::{Reference, baseline_agrees, test_settings, verify},
    facts::files,
    official_log::DetailLog,
    result::RunResult,
    tree::{ACCURACY_LOG, Place, SUMMARY, VERIFY_ACCURACY, VERIFY_PERFORMANCE},
};

/// How far TEST01's speed may be from the submitted one.
const MARGIN: f64 = 0.10;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let Some(benchmark) = entry.benchmark else {
            found.unknown(N34, &entry.place, NO_BENCHMARK);
            continue;
        };
        if subject.is_open() {
            found.pass(N34, &entry.place, "no compliance test is asked of the Open division");
        } else if benchmark.compliance.is_empty() {
            found.pass(N34, &entry.place, format!("{} needs no test", benchmark.name));
        } else {
            tests(subject, entry, benchmark, found);
        }
    }
}

fn tests(subject: &Subject, entry: &Entry, benchmark: &Benchmark, found: &mut Findings) {
    let name = &benchmark.name;
    let (Some(tree), Some(place)) = (&subject.tree, &entry.tree) else {
        let tests: Vec<_> = benchmark.compliance.iter().map(|test| test.name()).collect();
        let text = format!(
            "{name} needs {}: make those runs, and a submission of all of them",
            tests.join(", ")
        );
        return found.unknown(N34, "", text);
    };
    for test in &benchmark.compliance {
        let folder = place.compliance(test.name());
        let mut at = found.at(N34, &folder);
        if !tree.path(&folder).is_dir() {
            at.fail(format!(
                "is missing: make {test}, which {name} needs, with loadgen-node audit, and name its folder in compliance of \
                 submission.toml"
            ));
            continue;
        }
        at.fail_each(not_verified(tree, place, *test, benchmark));
        if let Some(run) = entry.run(Kind::Test(*test)) {
            used(tree, place, *test, benchmark, run, &mut at);
            at.fail_each(verified::differences(tree, place, entry, *test, benchmark));
            if let Some(reference) = entry.run(Kind::Performance) {
                match [reference, run].map(is_valid) {
                    [Some(true), Some(true)] => {
                        at.fail_each(speed(*test, benchmark, reference, run));
                    }
                    [Some(_), Some(_)] if *test != Test::Test06 => at.unknown(
                        "its speed cannot be held against the performance run's, because one of both is not VALID",
                    ),
                    _ => {}
                }
            }
        }
        at.or_pass("every test that the benchmark needs was made with its settings, and passes");
    }
}

/// Where what the verification wrote down does not say that the test passed.
fn not_verified(tree: &Tree, place: &Place, test: Test, benchmark: &Benchmark) -> Vec<String> {
    let speed = || {
        verdict(tree, place, test, VERIFY_PERFORMANCE, |text| {
            (!text.contains(PASSED)).then(|| format!("does not say {PASSED}{}", why(text)))
        })
    };
    let speed = if test == Test::Test06 { None } else { speed() };
    let answers = answers_differ(tree, place, test, benchmark);
    speed.into_iter().chain(answers).collect()
}

/// Where it does not say that the responses are the same in both modes.
pub(super) fn answers_differ(
    tree: &Tree,
    place: &Place,
    test: Test,
    benchmark: &Benchmark,
) -> Option<String> {
    match test {
        Test::Test01 => verdict(tree, place, test, VERIFY_ACCURACY, |text| {
            let accuracy = tree.path(&place.compliance_accuracy(test.name()));
            let scores = || scores_agree(&accuracy, benchmark).err();
            let scores = if text.contains(PASSED) { None } else { scores() }?;
            Some(format!(
                "does not say {PASSED}{}. Where the benchmark is not deterministic, score the same samples of both runs and \
                 put the official script's outputs into its folder: {scores}",
                why(text)
            ))
        }),
        Test::Test04 => None,
        Test::Test06 => verdict(tree, place, test, VERIFY_ACCURACY, |text| {
            (!all_checks_passed(text))
                .then(|| format!("does not say that all three checks passed{}", why(text)))
        }),
    }
}

/// What is wrong with a file of a test's verification.
fn verdict(
    tree: &Tree,
    place: &Place,
    test: Test,
    name: &str,
    judge: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let path = tree.path(&format!("{}/{name}", place.compliance(test.name())));
    let wrong = match files::read_to_string(&path) {
        Ok(text) => judge(&text)?,
        Err(error) => format!("cannot be read: {error}"),
    };
    Some(format!("{name} {wrong}"))
}

const PASSED: &str = "TEST PASS";

fn all_checks_passed(text: &str) -> bool {
    let says = |line: &str| text.lines().any(|found| found.trim() == line);
    let first = ["First token check pass: True", "First token check pass: Skipped"];
    let others =
        ["EOS check pass: True", "Sample length check pass: True", "TEST06 verification complete"];
    first.into_iter().any(says) && others.into_iter().all(says)
}

/// What a verification says of a failure.
fn why(text: &str) -> String {
    let failed = text.lines().filter_map(|line| line.strip_prefix("TEST FAIL: "));
    let of_test06 =
        text.lines().skip_while(|line| !line.starts_with("TEST06 verification")).skip(1);
    let reasons: Vec<_> = failed.chain(of_test06).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) }
}

/// The way out of TEST01 for a benchmark that is not deterministic.
fn scores_agree(accuracy: &Path, benchmark: &Benchmark) -> Result<(), String> {
    let files = ["baseline_accuracy.txt", "compliance_accuracy.txt"];
    let [baseline, compliance] = files.map(|name| accuracy.join(name));
    let part = baseline_agrees(&baseline, &compliance, benchmark).map_err(|error| {
        let why = error.problems().join("; ");
        format!("the scores of the same samples cannot be compared: {why}")
    })?;
    if part.passed() { Ok(()) } else { Err(part.reasons()) }
}

/// The run was made with the test's settings, by LoadGen's own log.
fn used(tree: &Tree, place: &Place, test: Test, benchmark: &Benchmark, run: &Run, at: &mut At) {
    let Some(detail) = run.detail() else {
        // The official checker asks for no detail log of TEST06.
        if run.logs.is_none() && !has_sampled(tree, place, run) {
            at.unknown("which settings it was made with is not known: its logs are not there");
        }
        return;
    };
    for (setting, want) in test_settings(test, benchmark) {
        let key = format!("effective_{setting}");
        let value = number(detail, &key);
        if value != Some(want) {
            let value = value.map_or_else(|| "missing".into(), |value| value.to_string());
            at.fail(format!(
                "{key} is {value}, not {want}: the run was not made with the audit.config of {test}"
            ));
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
        || files::read_to_string(&path).is_ok_and(|text| text.contains("\"token_count\""));
    run.result().is_some_and(is_that_of) && has_entries()
}

/// A switch counts as 0 or 1.
fn number(detail: &DetailLog, key: &str) -> Option<u64> {
    let value = detail.value(key)?;
    value.as_u64().or_else(|| value.as_bool().map(u64::from))
}

/// Whether its figures mean something, which N33 judges; none where a log is not there to say.
fn is_valid(run: &Run) -> Option<bool> {
    run.logs.as_ref()?.summary.as_ref().ok()?;
    Some(run.detail()?.text("result_validity") == Some("VALID"))
}

/// What the speeds in LoadGen's logs say against a test, whatever was written down.
fn speed(test: Test, benchmark: &Benchmark, reference: &Run, run: &Run) -> Option<String> {
    match test {
        Test::Test01 => {
            let rate = |run: &Run| run.detail()?.figure(run.detail()?.scenario()?);
            let off = rate(run)? / rate(reference)? - 1.0;
            (off.abs() >= MARGIN).then(|| {
                format!(
                    "by LoadGen's logs its speed is {:+.1} % off the submitted one; 10 % is the margin",
                    off * 100.0
                )
            })
        }
        Test::Test04 => {
            let [log, summary] = [ACCURACY_LOG, SUMMARY].map(|name| reference.folder.join(name));
            let reference = Reference { accuracy_log: &log, summary: &summary };
            match verify(test, benchmark, &reference, &run.folder) {
                Ok(verified) if verified.passed => None,
                Ok(verified) => {
                    let reasons = verified.performance.map(|part| part.reasons());
                    Some(format!("by LoadGen's logs: {}", reasons.unwrap_or_default()))
                }
                Err(error) => Some(error.to_string()),
            }
        }
        Test::Test06 => None,
    }
}
