//! Compares the files that the verification of a compliance test wrote with the logs. If the
//! accuracy logs are truncated, compares the counts in the files with each other and with the
//! accuracy run.

use crate::{
    book::{Benchmark, Formats, Test},
    compliance::{
        Part, figure, issued, other_counts, other_statements, responses, responses_file, speed,
        tokens, values_of,
    },
    facts::official_log::is_truncated,
    input::files,
    official_log::{DetailLog, metric},
    subject::{PlaceJudgement, ResultEntry, RunFiles, RunKind, SubmissionTree},
    tree::{ACCURACY_LOG, DETAIL, ResultPaths, SUMMARY, VERIFY_ACCURACY, VERIFY_PERFORMANCE},
};
use std::path::Path;

/// Compares the files of a test's verification with its logs. Returns as problems the contradictions
/// between them, and the reasons for which the official script would fail the test.
pub(super) fn differences(
    tree: &SubmissionTree,
    place: &ResultPaths,
    entry: &ResultEntry,
    test: Test,
    benchmark: &Benchmark,
    formats: &Formats,
    is_foreign: bool,
) -> Part {
    let folder = place.compliance(test.name());
    let read = |name: &str| files::read_to_string(&tree.path(&format!("{folder}/{name}"))).ok();
    let (mut wrong, mut stricter) = (Vec::new(), Vec::new());
    let mut compare = |name: &str, figures: &[Vec<String>]| {
        let text = read(name).unwrap_or_default();
        let differ =
            figure_differences(&text, figures).into_iter().map(|what| format!("{name} {what}"));
        wrong.extend(differ);
    };
    let is_usable = |run: &RunFiles| run.logs.as_ref().is_some_and(|logs| logs.summary.is_ok());
    let runs = entry.run(RunKind::Performance).zip(entry.run(RunKind::Test(test)));
    let runs = runs.filter(|(reference, run)| is_usable(reference) && is_usable(run));
    if let Some((reference, run)) = runs.filter(|_| test.compares_speed()) {
        // From tag v5.1 on TEST01 reads the detail log, which has more digits than the summary.
        let file = format!("{}/{VERIFY_PERFORMANCE}", test.name());
        let names = formats.score_names(&file).next().unwrap_or(["reference score", "test score"]);
        let logged = [reference, run].map(metric_of);
        let [reference, run] = [reference, run].map(|run| run.folder.join(SUMMARY));
        let summed = speed(test, &reference, &run).map(|part| part.figures).unwrap_or_default();
        let text = read(VERIFY_PERFORMANCE).unwrap_or_default();
        let either = names.into_iter().zip(summed).zip(logged).map(|((name, summed), logged)| {
            let summed = figure(&summed).map(|(_, value)| value.to_owned());
            let summed = summed.map(|summed| match logged {
                None => more_digits(&text, name, &summed).unwrap_or(summed),
                Some(_) => summed,
            });
            let values = summed.into_iter().chain(logged.map(|value| value.to_string()));
            values.map(|value| format!("{name} = {value}")).collect::<Vec<_>>()
        });
        compare(VERIFY_PERFORMANCE, &either.collect::<Vec<_>>());
    }
    let logs = [place.accuracy(), place.compliance_accuracy(test.name())];
    let [reference, run] = logs.map(|folder| tree.path(&format!("{folder}/{ACCURACY_LOG}")));
    match (test, entry.scenario) {
        (Test::Test01, _) if [&reference, &run].into_iter().all(|log| is_whole(log)) => {
            compare(VERIFY_ACCURACY, &figures(responses(&reference, &run, benchmark)));
        }
        (Test::Test01, _) => {
            let text = read(VERIFY_ACCURACY).unwrap_or_default();
            let odd = odd_counts(&text, entry).map(|what| format!("{VERIFY_ACCURACY} {what}"));
            wrong.extend(odd);
        }
        // Other rules find a missing log.
        (Test::Test06, Some(scenario)) if run.is_file() => {
            let found = tokens(&run, scenario, benchmark);
            let reason = match &found {
                Ok(part) if part.passes_script() => {
                    stricter.clone_from(&part.stricter);
                    None
                }
                Ok(part) => {
                    Some(format!("{ACCURACY_LOG} does not pass: {}", part.problems.join("; ")))
                }
                // LoadGen may have logged no response, which neither the script nor the checker
                // requires.
                Err(why) if is_foreign => {
                    stricter.push(format!("cannot be verified: {}", without_path(why.problems())));
                    None
                }
                Err(why) => Some(format!("cannot be verified: {}", without_path(why.problems()))),
            };
            compare(VERIFY_ACCURACY, &figures(found));
            wrong.extend(reason);
        }
        (Test::Test07 | Test::Test09, _) => {
            let text = responses_file(test).and_then(read).unwrap_or_default();
            wrong.extend(other_statements(test, benchmark, &text));
        }
        _ => {}
    }
    Part { problems: wrong, stricter, ..Part::default() }
}

/// Joins the problems of an accuracy log, without the path of its folder, which the finding itself
/// names.
fn without_path(problems: &[String]) -> String {
    let bare = problems.iter().map(|problem| match problem.split_once(ACCURACY_LOG) {
        Some((_, what)) => format!("{ACCURACY_LOG}{what}"),
        None => problem.clone(),
    });
    bare.collect::<Vec<_>>().join("; ")
}

/// Returns each figure that was computed from the logs as a list with its only right value; empty
/// if none could be computed, which other rules report.
fn figures<E>(part: Result<Part, E>) -> Vec<Vec<String>> {
    let figures = part.map(|part| part.figures).unwrap_or_default();
    figures.into_iter().map(|figure| vec![figure]).collect()
}

/// Returns LoadGen's metric in the detail log of a run.
fn metric_of(run: &RunFiles) -> Option<f64> {
    let detail = run.detail()?;
    Some(metric(detail.scenario()?, detail)?.value)
}

/// Returns the value of a figure in a text if it rounds to the summary's value. The summary has
/// fewer digits than the detail log.
fn more_digits(text: &str, name: &str, summed: &str) -> Option<String> {
    let digits = summed.split_once('.').map_or(0, |(_, digits)| digits.len());
    let value = *values_of(text, name).first()?;
    let rounded = format!("{:.digits$}", value.parse::<f64>().ok()?);
    (rounded == summed).then(|| value.to_owned())
}

fn is_whole(path: &Path) -> bool {
    files::read(path).is_ok_and(|log| !log.is_empty() && !is_truncated(&log))
}

/// Returns findings about figures that a text lacks or contradicts. `figures` contains the right
/// values of each figure, as `NAME = VALUE`: several if summary and detail log have different
/// digits.
fn figure_differences(text: &str, figures: &[Vec<String>]) -> Vec<String> {
    let is_same = |one: &str, other: &str| {
        let numbers = one.parse::<f64>().ok().zip(other.parse::<f64>().ok());
        numbers.map_or(one == other, |(one, other)| (one - other).abs() <= other.abs() * 1e-9)
    };
    let mut wrong = Vec::new();
    for values in figures {
        let mut values = values.iter().filter_map(|line| figure(line)).peekable();
        let Some((name, value)) = values.peek().copied() else { continue };
        let values: Vec<_> = values.map(|(_, value)| value).collect();
        let said = values_of(text, name);
        let is_one = |said: &&str| values.iter().any(|value| is_same(said, value));
        if said.is_empty() || !said.iter().all(is_one) {
            let said = if said.is_empty() { "nothing".to_owned() } else { said.join(" and ") };
            wrong.push(format!(
                "has {said} for {name}, and by the logs it is {value}: verify the test again"
            ));
        }
    }
    wrong
}

/// Returns a finding if the counts of TEST01 contradict each other, the verdict, or the number of
/// samples in the accuracy run's log.
fn odd_counts(text: &str, entry: &ResultEntry) -> Option<String> {
    let count = |name: &str| match values_of(text, name)[..] {
        [one] => one.parse::<u64>().ok(),
        _ => None,
    };
    let counts = [
        "num_acc_log_entries",
        "num_perf_log_entries",
        "num_perf_log_qsl_idx_match",
        "num_perf_log_data_mismatch",
        "num_missing_qsl_idxs",
    ];
    let known: Option<Vec<u64>> = counts.iter().map(|name| count(name)).collect();
    // A failed verification has no counts, and states its failure.
    let Some(&[all, tested, matched, unlike, missing]) = known.as_deref() else {
        return text.contains("TEST PASS").then(|| {
            format!("does not state each of {} once: verify the test again", counts.join(", "))
        });
    };
    let run = entry.run(RunKind::Accuracy);
    let log = run.and_then(RunFiles::detail);
    let total = log.and_then(|log| log.integer("qsl_reported_total_count"));
    let recorded = run.and_then(RunFiles::result).map(|record| record.dataset_samples);
    // Another finding covers a difference between these two.
    let is_recorded = total.is_some_and(|total| recorded.is_none_or(|recorded| recorded == total));
    let issued = log.and_then(DetailLog::accuracy_samples).filter(|_| is_recorded);
    let passes = text.contains("TEST PASS");
    let wrong = if issued.is_some_and(|issued| issued != all) {
        format!(
            "counts {all} entries of the accuracy run, which had {} samples",
            issued.unwrap_or(0)
        )
    } else if matched.checked_add(missing) != Some(tested) || unlike > matched {
        format!(
            "counts {tested} entries, {matched} matches, {unlike} mismatches and {missing} missing ones, which do not add up"
        )
    } else if passes && (unlike > 0 || matched == 0) {
        format!("passes with {matched} matches and {unlike} mismatches")
    } else if passes && text.contains("TEST FAIL") {
        "both passes and fails".to_owned()
    } else {
        return None;
    };
    Some(format!("{wrong}: verify the test again"))
}

/// Finds a test whose log has another number of samples than `samples`.
pub(super) fn judge_counts(
    tree: &SubmissionTree,
    place: &ResultPaths,
    test: Test,
    samples: u64,
    at: &mut PlaceJudgement,
) {
    let log = tree.path(&format!("{}/{DETAIL}", place.compliance_performance(test.name())));
    match DetailLog::read(&log).ok().as_ref().and_then(issued) {
        Some(counts) => at.fail_each(other_counts(test, samples, counts)),
        // The official checker does not require the logs of these tests.
        None => at.unknown(format!(
            "its numbers of samples are unknown: {DETAIL} is missing, or has no counts"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_fewer_digits_than_the_file_of_its_verification() {
        let text = "Reference score: 28.464\nTest score: 28.47\n";
        assert_eq!(more_digits(text, "Reference score", "28.46"), Some("28.464".into()));
        assert_eq!(more_digits(text, "Test score", "28.46"), None);
        assert_eq!(more_digits(text, "score", "28.46"), None);
    }
}
