//! N34: the compliance tests were run with their settings, and pass (policies and official
//! checker).

use super::settings;
use crate::{
    book::{Benchmark, Formats, Test},
    compliance::{self, other_settings, responses_file},
    input::files::{self, entries},
    record::RunResult,
    subject::{Findings, PlaceJudgement, ResultEntry, RunFiles, RunKind, Subject, SubmissionTree},
    tree::{ACCURACY_LOG, ResultPaths, SUMMARY, VERIFY_ACCURACY, VERIFY_PERFORMANCE},
};
use netdiv_node_common::words::Mode;
use std::collections::BTreeMap;

mod test01;
mod verification_files;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    settings::judge_user_conf(subject, |kind| matches!(kind, RunKind::Test(_)), found);
    test01::judge(subject, found);
    for entry in &subject.results {
        if !subject.is_open() {
            other_tests(subject, entry, found);
        }
        let Some(benchmark) = found.benchmark(entry) else { continue };
        if subject.is_open() {
            found.pass(&entry.place, "the Open division requires no compliance test");
        } else if benchmark.tests().next().is_none() {
            found.pass(&entry.place, format!("{} needs no test", benchmark.name));
        } else {
            tests(subject, entry, benchmark, found);
        }
    }
}

const PASSES: &str = "every test that the benchmark needs was made with its settings, and passes";

fn tests(subject: &Subject, entry: &ResultEntry, benchmark: &Benchmark, found: &mut Findings) {
    let name = &benchmark.name;
    let (Some(tree), Some(place)) = (&subject.tree, &entry.tree) else {
        let tests: Vec<_> = benchmark.tests().collect();
        let text = format!(
            "{name} needs {}: make those runs, and a submission of all of them",
            tests.join(", ")
        );
        return found.unknown("", text);
    };
    let (formats, is_foreign) = (subject.formats(), subject.is_foreign());
    for test in &benchmark.other_tests {
        let mut at = found.at(place.compliance(test));
        if tree.path(&place.compliance(test)).is_dir() {
            let verdict = verdict(tree, place, test, VERIFY_ACCURACY, &formats);
            at.fail_each(verdict.map(|wrong| wrong.text));
        } else {
            at.fail(format!(
                "is missing: make {test}, which {name} needs, with the official scripts"
            ));
        }
        at.or_pass(PASSES);
    }
    for test in &benchmark.compliance {
        let folder = place.compliance(test.name());
        let mut at = found.at(&folder);
        if !tree.path(&folder).is_dir() {
            at.fail(format!(
                "is missing: make {test}, which {name} needs, with loadgen-node audit, and name its folder in compliance of \
                 submission.toml"
            ));
            continue;
        }
        // Consequences of a test that did not pass are not reported again.
        let unverified = not_verified(tree, place, *test, benchmark, &formats);
        let mut is_failed = !unverified.is_empty();
        if *test == Test::Test01
            && !is_failed
            && let Some(text) = test01::score_contradiction(tree, place, benchmark, &formats)
        {
            match is_foreign {
                true => at.unknown(format!("{text}; the official checker does not read them here")),
                false => at.fail(text),
            }
        }
        at.fail_each(unverified);
        if let Some(samples) = benchmark.test_samples(*test) {
            verification_files::judge_counts(tree, place, *test, samples, &mut at);
        }
        if let Some(run) = entry.run(RunKind::Test(*test)) {
            judge_settings(tree, place, *test, benchmark, run, &mut at);
            let differences = verification_files::differences(
                tree, place, entry, *test, benchmark, &formats, is_foreign,
            );
            if !is_failed {
                is_failed = !differences.passes_script();
                at.fail_each(differences.problems);
            }
            for what in differences.stricter {
                at.unknown(format!(
                    "{what}: netdiv requires this, the official script does not; review it"
                ));
            }
            if let Some(reference) = entry.run(RunKind::Performance) {
                match [reference, run].map(is_valid) {
                    [Some(true), Some(true)] if is_failed => {}
                    [Some(true), Some(true)] => at.fail_each(speed(*test, reference, run)),
                    [Some(_), Some(_)] if test.compares_speed() => at.unknown(
                        "its speed cannot be compared with the performance run's, because one of the two is not VALID",
                    ),
                    _ => {}
                }
            }
        }
        at.or_pass(PASSES);
    }
}

/// Returns findings if the files of the verification do not state that the test passed.
fn not_verified(
    tree: &SubmissionTree,
    place: &ResultPaths,
    test: Test,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Vec<String> {
    let speed = || verdict(tree, place, test.name(), VERIFY_PERFORMANCE, formats);
    let speed = if test.compares_speed() { speed() } else { None };
    let answers = answers_differ(tree, place, test, benchmark, formats);
    speed.map(|wrong| wrong.text).into_iter().chain(answers).collect()
}

/// Returns a finding if the verification does not state that the responses pass the test.
pub(super) fn answers_differ(
    tree: &SubmissionTree,
    place: &ResultPaths,
    test: Test,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Option<String> {
    let FileViolation { text: wrong, is_contradiction } =
        verdict(tree, place, test.name(), responses_file(test)?, formats)?;
    if is_contradiction || test != Test::Test01 {
        return Some(wrong);
    }
    let accuracy = tree.path(&place.compliance_accuracy(test.name()));
    let scores = test01::compare_scores(&accuracy, benchmark, formats).err()?;
    Some(format!(
        "{wrong}. Where the benchmark is not deterministic, verify it with loadgen-node audit --reference, which scores the same \
         samples of both runs: {scores}"
    ))
}

/// Violation in a file that the verification of a compliance test wrote (`verify_*.txt`).
struct FileViolation {
    text: String,
    is_contradiction: bool,
}

/// Returns the violation in the file `name` of a test's verification: it cannot be read, does not
/// state that the test passed, or contains two verdicts.
fn verdict(
    tree: &SubmissionTree,
    place: &ResultPaths,
    test: &str,
    name: &str,
    formats: &Formats,
) -> Option<FileViolation> {
    let path = tree.path(&format!("{}/{name}", place.compliance(test)));
    let (wrong, is_contradiction) = match files::read_to_string(&path) {
        Ok(text) => match formats.lacking(&format!("{test}/{name}"), &text) {
            Some(lacking) => (format!("does not say {lacking}{}", why(&text)), false),
            None => (contradiction(&text)?, true),
        },
        Err(error) => (format!("cannot be read: {error}"), false),
    };
    Some(FileViolation { text: format!("{name} {wrong}"), is_contradiction })
}

/// Returns a finding if a file contains two verdicts. The official checker searches only for the
/// passing verdict.
fn contradiction(text: &str) -> Option<String> {
    let mut said: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        let (what, verdict) = if line.starts_with(PASSED) || line.starts_with(FAILED) {
            ("TEST", if line.starts_with(PASSED) { "PASS" } else { "FAIL" })
        } else if let Some((test, verdict)) = line.split_once(" verification ") {
            (test, verdict)
        } else if let Some((check, verdict)) = line.split_once(" pass: ") {
            (check, verdict)
        } else {
            continue;
        };
        let first = *said.entry(what).or_insert(verdict);
        if first != verdict {
            return Some(format!(
                "has two verdicts, `{what} {first}` and `{what} {verdict}`: verify the test again"
            ));
        }
    }
    let is_failed = |verdict: &&str| ["failed", "False"].contains(verdict);
    said.iter()
        .find(|(_, verdict)| is_failed(verdict))
        .map(|(what, verdict)| format!("passes and says `{what} {verdict}`: verify the test again"))
}

const PASSED: &str = "TEST PASS";

const FAILED: &str = "TEST FAIL";

/// Returns the reasons for a failure that the text of a verification states, after `: `; empty if
/// it states none.
fn why(text: &str) -> String {
    let failed = text.lines().filter_map(|line| line.strip_prefix("TEST FAIL: "));
    let of_test06 =
        text.lines().skip_while(|line| !line.starts_with("TEST06 verification")).skip(1);
    let reasons: Vec<_> = failed.chain(of_test06).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) }
}

/// Requires that LoadGen's log of a compliance test has the settings of the test's audit.config.
fn judge_settings(
    tree: &SubmissionTree,
    place: &ResultPaths,
    test: Test,
    benchmark: &Benchmark,
    run: &RunFiles,
    at: &mut PlaceJudgement,
) {
    let Some(detail) = run.detail() else {
        // The official checker does not require the detail logs of some tests.
        if run.logs.is_none() && !has_sampled(tree, place, run) {
            at.unknown("its settings are unknown: its logs are missing");
        }
        return;
    };
    let wrong = other_settings(test, benchmark, detail);
    if !wrong.is_empty() {
        let wrong = wrong.join(", ");
        at.fail(format!("{wrong}: the run was not made with the audit.config of {test}"));
    }
}

/// Returns true if TEST06's accuracy log is the complete log of its run in performance mode.
/// Without the test's settings, LoadGen would have logged no response.
fn has_sampled(tree: &SubmissionTree, place: &ResultPaths, run: &RunFiles) -> bool {
    let path = tree.path(&format!("{}/{ACCURACY_LOG}", place.compliance_accuracy("TEST06")));
    let is_that_of = |record: &RunResult| {
        record.mode == Mode::Performance
            && files::sha256(&path).is_ok_and(|hash| record.logs.get(ACCURACY_LOG) == Some(&hash))
    };
    let has_entries =
        || files::read_to_string(&path).is_ok_and(|text| text.contains("\"token_count\""));
    run.result().is_some_and(is_that_of) && has_entries()
}

/// Returns true if the run is VALID, so that its figures are meaningful (N33); `None` if a log is
/// missing.
fn is_valid(run: &RunFiles) -> Option<bool> {
    let summary = run.logs.as_ref()?.summary.as_ref().ok()?;
    let is_valid = run.detail()?.text("result_validity") == Some("VALID");
    Some(is_valid && !summary.repeats("Result is"))
}

/// Returns a finding if a test fails by the speeds in LoadGen's logs, even if its verification
/// files state that it passed.
fn speed(test: Test, reference: &RunFiles, run: &RunFiles) -> Option<String> {
    if !test.compares_speed() {
        return None;
    }
    let [reference, run] = [reference, run].map(|run| run.folder.join(SUMMARY));
    match compliance::speed(test, &reference, &run) {
        Ok(part) if part.passed() => None,
        Ok(part) => Some(format!("by LoadGen's logs: {}", part.reasons())),
        Err(error) => Some(error.to_string()),
    }
}

/// Finds failures in the folders of compliance tests that the table does not require, such as all
/// tests of a benchmark that the table lacks.
fn other_tests(subject: &Subject, entry: &ResultEntry, found: &mut Findings) {
    let (Some(tree), Some(place)) = (&subject.tree, &entry.tree) else { return };
    let formats = subject.formats();
    let needed: Vec<_> = entry.benchmark.iter().flat_map(|one| one.tests()).collect();
    let is_needed = |name: &str| needed.contains(&name);
    let parent = place.compliance("");
    for (name, path) in entries(&tree.path(&parent)).unwrap_or_default() {
        if !(name.starts_with("TEST") && path.is_dir()) || is_needed(&name) {
            continue;
        }
        let folder = place.compliance(&name);
        let mut at = found.at(&folder);
        let accuracy = tree.path(&place.compliance_accuracy(&name));
        // The table has benchmarks of other suites, too.
        let benchmark = subject.table.find(&entry.name);
        for file in formats.files_of(&name) {
            let Some(wrong) = verdict(tree, place, &name, file, &formats) else { continue };
            // TEST01 may pass by scores.
            let by_scores = file == VERIFY_ACCURACY && !wrong.is_contradiction;
            match benchmark {
                _ if !by_scores || !test01::scores_exist(&accuracy) => at.fail(wrong.text),
                Some(benchmark) => {
                    let scores = test01::compare_scores(&accuracy, benchmark, &formats).err();
                    at.fail_each(scores.map(|scores| format!("{}; {scores}", wrong.text)));
                }
                // Those of a benchmark outside the table cannot be compared.
                None => at.unknown(format!(
                    "{}; the scores of the same samples, by which it may pass, cannot be compared without the benchmark",
                    wrong.text
                )),
            }
        }
        at.or_pass("no test that was made failed");
    }
}
