//! Verifies a run of a compliance test, and makes the files that the official checker reads.

use std::{collections::BTreeMap, path::Path};

use super::{
    audit_config,
    element::{Element, Number},
    official,
    part::{ComplianceError, Part, both, read_summary},
    performance, test01,
    test06::{self, Requirements},
};
use crate::{
    Scenario,
    book::{Benchmark, Test},
    facts::official_log::Summary,
    tree::{ACCURACY_LOG, DETAIL, SUMMARY, VERIFY_ACCURACY, VERIFY_PERFORMANCE},
};

/// Paths of the submitted runs' files with which [`verify`] compares a compliance run.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// `mlperf_log_accuracy.json` of the accuracy run, complete and not truncated. Only TEST01
    /// reads it.
    pub accuracy_log: &'a Path,
    /// `mlperf_log_summary.txt` of the performance run. Only TEST01 and TEST04 read it.
    pub summary: &'a Path,
}

/// Result of the verification of a compliance test.
#[derive(Debug, Clone)]
pub struct Verification {
    /// True if netdiv passes all parts of the test.
    pub passed: bool,
    /// Result for the responses, in all tests but TEST04. If TEST01 fails because a benchmark is not
    /// deterministic, continue with [`baseline`](super::baseline()).
    pub accuracy: Option<Part>,
    /// Result for the speed, in TEST01 and TEST04.
    pub performance: Option<Part>,
    /// Contents by file name: the files with the verdict, which the official checker reads.
    pub files: BTreeMap<String, String>,
}

/// Verifies a run that LoadGen made with the test's `audit.config`.
///
/// Fails if files are missing or were not written by LoadGen, if the test's settings had no effect,
/// or if the run has no response or no score. The official scripts pass some of these runs. TEST01
/// and TEST06 read responses as numbers of the benchmark's `accuracy_dtype`. TEST07 and TEST09 read
/// the file that their official script left in `compliance_run`. This function does not check that
/// the benchmark needs the test.
pub fn verify(
    test: Test,
    benchmark: &Benchmark,
    reference: &Reference<'_>,
    compliance_run: &Path,
) -> Result<Verification, ComplianceError> {
    let [log, summary, detail] =
        [ACCURACY_LOG, SUMMARY, DETAIL].map(|name| compliance_run.join(name));
    let needed: &[&Path] = match test {
        Test::Test01 => &[reference.accuracy_log, reference.summary, &log, &summary],
        Test::Test04 => &[reference.summary, &summary],
        Test::Test06 => &[&log, &summary],
        Test::Test07 | Test::Test09 => &[&log, &summary, &detail],
    };
    let missing = needed.iter().filter(|path| !path.is_file());
    let missing: Vec<_> = missing.map(|path| format!("{}: no such file", path.display())).collect();
    if !missing.is_empty() {
        return Err(ComplianceError(missing));
    }

    let run = read_summary(&summary)?;
    audit_config::in_effect(test, benchmark, &run)
        .map_err(|why| ComplianceError::new(&summary, why))?;
    let element = element_of(benchmark);
    let mut files = BTreeMap::new();
    let (accuracy, performance) = match test {
        Test::Test01 => {
            let accuracy = element.and_then(|e| test01::accuracy(reference.accuracy_log, &log, e));
            let performance = performance::compare(test, reference.summary, &summary);
            let (accuracy, performance) = both(accuracy, performance)?;
            (Some(accuracy), Some(performance))
        }
        Test::Test04 => (None, Some(performance::compare(test, reference.summary, &summary)?)),
        Test::Test06 => {
            let scenario = Scenario::of_official_name(&run.scenario).ok_or_else(|| {
                ComplianceError::new(&log, "the summary beside this log names no scenario")
            })?;
            let (mut part, text) =
                test06::verify(&log, scenario, benchmark, element?, Requirements::Netdiv)?;
            part.notes.extend(why_invalid(scenario, &run));
            files.insert(VERIFY_ACCURACY.to_owned(), text);
            (Some(part), None)
        }
        Test::Test07 | Test::Test09 => {
            let (part, name, text) = official::verify(test, benchmark, compliance_run)?;
            files.insert(name, text);
            (Some(part), None)
        }
    };
    if files.is_empty() {
        for (name, part) in [(VERIFY_ACCURACY, &accuracy), (VERIFY_PERFORMANCE, &performance)] {
            files.extend(part.as_ref().map(|part| (name.to_owned(), part.report())));
        }
    }
    let passed = accuracy.iter().chain(&performance).all(Part::passed);
    Ok(Verification { passed, accuracy, performance, files })
}

/// Explains LoadGen's verdict INVALID on a run of TEST06 in Server, which a submitter would mistake
/// for a failed test. Returns `None` for any other run.
fn why_invalid(scenario: Scenario, run: &Summary) -> Option<String> {
    let is_expected = scenario == Scenario::Server
        && run.is_invalid()
        && run.value("  Early stopping satisfied") == Some("NO");
    is_expected.then(|| {
        format!(
            "LoadGen calls this run INVALID, as it does every TEST06 in Server: {} queries are too few for early stopping. \
             TEST06 is about the tokens; neither its script nor the official checker reads that verdict",
            test06::RESPONSES
        )
    })
}

fn element_of(benchmark: &Benchmark) -> Result<Element, ComplianceError> {
    Element::of(benchmark.accuracy_dtype)
        .map_err(|why| ComplianceError(vec![format!("{}: {why}", benchmark.name)]))
}

/// Compares the responses in two complete accuracy logs as TEST01 does, without the speed.
pub(crate) fn responses(
    reference: &Path,
    run: &Path,
    benchmark: &Benchmark,
) -> Result<Part, ComplianceError> {
    test01::accuracy(reference, run, element_of(benchmark)?)
}

/// Checks the responses in an accuracy log as TEST06 does; the figures are those of the official
/// script. An option of the script selects the type of the token ids. This function uses the
/// benchmark's type, or another type if the responses pass only with that one.
pub(crate) fn tokens(
    log: &Path,
    scenario: Scenario,
    benchmark: &Benchmark,
) -> Result<Part, ComplianceError> {
    let own = element_of(benchmark)?;
    let of =
        |element| Ok(test06::verify(log, scenario, benchmark, element, Requirements::Script)?.0);
    let part: Result<Part, ComplianceError> = of(own);
    if part.as_ref().is_ok_and(Part::passes_script) {
        return part;
    }
    let others = Element::TOKENS.into_iter().filter_map(|element| of(element).ok());
    match others.into_iter().find(Part::passes_script) {
        Some(other) => Ok(other),
        None => part,
    }
}

/// Returns the first number of a response; `None` if it is empty.
pub(crate) fn first_number(
    benchmark: &Benchmark,
    response: &[u8],
) -> Result<Option<Number>, ComplianceError> {
    let first = element_of(benchmark)?.first(response, response.len());
    first.map_err(|why| ComplianceError(vec![why]))
}
