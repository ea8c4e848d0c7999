//! TEST07 and TEST09, which official scripts verify: each script leaves a file with its figures and
//! its verdict.

use std::path::Path;

use super::part::{ComplianceError, Part, responses_file};
use crate::{
    book::{Benchmark, Formats, Test},
    facts::official_log::DetailLog,
    input::files,
    tree::DETAIL,
};

/// Verifies a run by the file that the test's official script left beside the logs. Returns the
/// findings, and the name and the text of that file.
pub(super) fn verify(
    test: Test,
    benchmark: &Benchmark,
    run: &Path,
) -> Result<(Part, String, String), ComplianceError> {
    let name = responses_file(test).unwrap_or_default();
    let path = run.join(name);
    let text = files::read_to_string(&path).map_err(|error| {
        let remedy = format!("{error}; {test} is verified by loadgen-node audit --reference");
        ComplianceError::new(&path, remedy)
    })?;
    let mut part = Part::default();
    for (figure, _) in stated(test, benchmark) {
        let value = values_of(&text, figure).into_iter().next();
        part.figures.extend(value.map(|value| format!("{figure}: {value}")));
    }
    let lacking = Formats::of(None).lacking(&format!("{test}/{name}"), &text);
    part.problems.extend(lacking.map(|lacking| format!("{name} does not say {lacking}")));
    part.stricter = other_statements(test, benchmark, &text);
    if let Some(samples) = benchmark.test_samples(test) {
        part.stricter.extend(match issued(&DetailLog::read(&run.join(DETAIL))?) {
            Some(counts) => other_counts(test, samples, counts),
            None => Some(format!("{DETAIL} has no numbers of samples")),
        });
    }
    Ok((part, name.to_owned(), text))
}

/// Returns the names of the figures in the file of a script, each with its value if that is the
/// test's.
fn stated(test: Test, benchmark: &Benchmark) -> Vec<(&'static str, Option<f64>)> {
    let samples = benchmark.test_samples(test).map(|samples| samples as f64);
    let Benchmark { test07, test09, .. } = benchmark;
    match test {
        Test::Test07 => vec![
            ("Total samples evaluated", samples),
            ("Accuracy score", None),
            ("Accuracy threshold", test07.as_ref().map(|test| test.least)),
        ],
        Test::Test09 => vec![
            ("Total samples", samples),
            ("Mean output tokens", None),
            ("Min threshold", test09.as_ref().map(|test| test.least)),
            ("Max threshold", test09.as_ref().map(|test| test.most)),
        ],
        Test::Test01 | Test::Test04 | Test::Test06 => vec![],
    }
}

/// Returns the figures in the text of a verification that are not those of the test: of another
/// data set, or bounds that an option of the script replaced.
pub(crate) fn other_statements(test: Test, benchmark: &Benchmark, text: &str) -> Vec<String> {
    let file = responses_file(test).unwrap_or_default();
    let mut wrong = Vec::new();
    for (name, wanted) in stated(test, benchmark) {
        let Some(wanted) = wanted else { continue };
        let is_other = |said: &&str| {
            !said.parse::<f64>().is_ok_and(|said| (said - wanted).abs() <= wanted * 1e-9)
        };
        wrong.extend(values_of(text, name).into_iter().find(is_other).map(|said| {
            format!(
                "{file} has {said} for {name}, and {test} of {} has {wanted}: run and verify {test} again with its own data \
                 set and audit.config",
                benchmark.name
            )
        }));
    }
    wrong
}

/// Returns the numbers of samples in the data set and in LoadGen's queries.
pub(crate) fn issued(detail: &DetailLog) -> Option<(u64, u64)> {
    // Offline has one query.
    let queries = detail.integer("generated_query_count").unwrap_or(1);
    let issued = queries.saturating_mul(detail.integer("generated_samples_per_query")?);
    Some((detail.integer("qsl_reported_total_count")?, issued))
}

/// Returns a finding if a run of a test has other numbers of samples than `samples`. TEST07 and
/// TEST09 issue the whole of their data sets, which differ.
pub(crate) fn other_counts(test: Test, samples: u64, counts: (u64, u64)) -> Option<String> {
    let (total, issued) = counts;
    (counts != (samples, samples)).then(|| {
        format!(
            "LoadGen issued {issued} samples of a data set of {total}, and {test} issues {samples} of {samples}: run {test} \
             again with its own data set and audit.config"
        )
    })
}

/// Returns the name and the value of a figure in a line `NAME: VALUE` or `NAME = VALUE`.
pub(crate) fn figure(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once([':', '='])?;
    // Other text may follow the value.
    Some((name.trim(), value.split_whitespace().next().unwrap_or_default()))
}

/// Returns every value of a figure in a text. `loadgen-node audit` writes names as tag v5.0 does,
/// and later tags differ in the case of the first letter.
pub(crate) fn values_of<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let figures = text.lines().filter_map(figure);
    figures.filter(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::book::Table;

    /// Ends of files of a published result.
    const OF_TEST07: &str = "2026-02-10 21:55:11,732 - INFO - Total entries: 990
Total samples evaluated: 990
'exact_match': 63.737

TEST07 Verification Summary
Accuracy score: 63.737
Accuracy threshold: 60.698
Accuracy check pass: True
TEST PASS
";
    const OF_TEST09: &str = "Total samples: 6396
Mean output tokens: 1373.90
Min threshold: 1150.38
Max threshold: 1406.02
Min check pass: True
Max check pass: True

TEST PASS
";

    fn entry(key: &str, value: u64) -> String {
        format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"metadata\": {{}}}}\n")
    }

    #[test]
    fn a_run_passes_with_its_scripts_verdict_and_all_of_its_samples() {
        let of_07 = |from: &str, to: &str| OF_TEST07.replace(from, to);
        let of_09 = |from: &str, to: &str| OF_TEST09.replace(from, to);
        let (test07, test09) = (Test::Test07, Test::Test09);
        for (test, total, text, wanted) in [
            (test07, 990, OF_TEST07.to_owned(), &[][..]),
            (
                test07,
                6396,
                OF_TEST07.into(),
                &["issued 6396 samples of a data set of 6396, and TEST07 issues 990 of 990"],
            ),
            (test07, 990, of_07("PASS", "FAIL"), &["verify_accuracy.txt does not say TEST PASS"]),
            (
                test07,
                990,
                of_07("60.698", "10.0"),
                &["verify_accuracy.txt has 10.0 for Accuracy threshold"],
            ),
            (
                test07,
                990,
                of_07("evaluated: 990", "evaluated: 900"),
                &["has 900 for Total samples"],
            ),
            (test09, 6396, OF_TEST09.into(), &[]),
            (test09, 6396, of_09("1150.38", "0"), &["has 0 for Min threshold"]),
            (test09, 6396, of_09("1406.02", "all"), &["has all for Max threshold"]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
            let counts = ["qsl_reported_total_count", "generated_samples_per_query"];
            write(DETAIL, &counts.map(|key| entry(key, total)).concat());
            let benchmark = Table::builtin().unwrap().find("gpt-oss-120b").unwrap();
            let unverified = verify(test, benchmark, folder.path()).unwrap_err().to_string();
            assert!(unverified.contains("loadgen-node audit --reference"), "{unverified}");
            write(responses_file(test).unwrap(), &text);
            let (part, ..) = verify(test, benchmark, folder.path()).unwrap();
            let found = [part.problems, part.stricter].concat();
            assert_eq!(found.len(), wanted.len(), "{found:?}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert!(found.contains(wanted), "{found}: {wanted}");
            }
        }
    }
}
