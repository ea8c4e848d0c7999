//! Comparison of the speed of a compliance run with that of the submitted run, in TEST01 and
//! TEST04.

use std::path::Path;

use super::part::{ComplianceError, Part, both, read_summary};
use crate::{
    book::Test,
    facts::official_log::{Score, Summary},
};

/// Compares the speed in two summaries: of the submitted run (`reference`) and of the compliance
/// run (`run`). In TEST01 both speeds must agree within a margin. In TEST04 the compliance run must
/// not be faster by more than the margin, so that a SUT that caches a sample fails.
pub(crate) fn compare(test: Test, reference: &Path, run: &Path) -> Result<Part, ComplianceError> {
    let (before, after) = both(read_summary(reference), read_summary(run))?;
    let mut part = Part::default();
    for (summary, whose) in [(&before, "reference"), (&after, "test")] {
        let warning = |n| format!("WARNING: {n} ERROR reported in {whose} results");
        part.notes.extend(summary.errors.iter().map(warning));
        if summary.is_invalid() {
            part.problems.push(format!("the {whose} results are INVALID"));
        }
    }
    if before.scenario != after.scenario {
        part.problems.push("the scenarios of test and reference do not match".into());
    }
    if !part.passes_script() {
        return Ok(part);
    }
    if bounds(&before).ne(bounds(&after)) {
        part.stricter.push("the target latencies of test and reference do not match".into());
    }

    let scenario = before.scenario.clone();
    let (before, after) = both(score(before, reference), score(after, run))?;
    let (before, after) = match (test, scenario.as_str()) {
        (Test::Test04, "SingleStream" | "MultiStream") => (rate(&before), rate(&after)),
        _ => (before, after),
    };
    part.figures =
        vec![format!("reference score = {}", before.text), format!("test score = {}", after.text)];
    let margin = margin(&scenario, before.value);
    let not_faster = after.value < before.value * (1.0 + margin);
    let not_slower = test == Test::Test04 || after.value > before.value * (1.0 - margin);
    if !(not_faster && not_slower) {
        let percent = (after.value / before.value - 1.0) * 100.0;
        let margin = margin * 100.0;
        part.problems.push(format!(
            "the test score differs from the reference score by {percent:+.2} %; the margin is {margin:.0} %"
        ));
    }
    Ok(part)
}

/// Returns the permitted difference as a share of `reference`. Short latencies vary from run to run
/// and have twice the margin. In TEST04 the official script compares a rate, not a latency, with
/// these limits, and so does netdiv.
fn margin(scenario: &str, reference: f64) -> f64 {
    match scenario {
        "SingleStream" if reference <= 200_000.0 => 0.20,
        "MultiStream" if reference <= 1_600_000.0 => 0.20,
        _ => 0.10,
    }
}

/// Converts a latency in nanoseconds into queries per second, formatted as in Python.
fn rate(latency: &Score) -> Score {
    let value = 1e9 / latency.value;
    Score { text: format!("{value:?}"), value }
}

/// Returns the latency bounds in a summary of the Server scenario, by key; no bounds in other
/// scenarios. The official script does not compare them, because its pattern matches no line that
/// LoadGen writes.
fn bounds(summary: &Summary) -> impl Iterator<Item = (&String, &Vec<String>)> {
    let server = summary.scenario == "Server";
    summary.starting_with("target_latency ").filter(move |_| server)
}

/// Returns the score of a finished run. Fails without a score. The official script assumes 0
/// instead, with which TEST04 passes.
fn score(summary: Summary, path: &Path) -> Result<Score, ComplianceError> {
    let lacks = |what| {
        ComplianceError::new(
            path,
            format!("no {what}: this is not the summary of a finished performance run"),
        )
    };
    if summary.results.is_empty() {
        return Err(lacks("`Result is : VALID`"));
    }
    summary.score.ok_or_else(|| lacks("score of its scenario"))
}
