//! `accuracy.txt`: what the official accuracy script prints, and the hash of the whole accuracy log.

use std::path::Path;

use super::{problems::Problems, runs::Run, settings::ResultSettings};
use crate::{benchmarks::Benchmark, check::is_as_counted, compliance, regular, result::Accuracy};

/// Makes it from the script's output, or from the run's own count where that is what the script counts. None, with a
/// fault, where neither is there.
pub(super) fn make(
    base: &Path,
    name: &str,
    settings: &ResultSettings,
    run: &Run,
    benchmark: Option<&Benchmark>,
    problems: &mut Problems,
) -> Option<String> {
    let text = match (&settings.accuracy_txt, &run.result.accuracy) {
        (Some(path), counted) => given(&base.join(path), benchmark, counted.as_ref(), problems)?,
        (None, Some(accuracy)) => counted(accuracy, benchmark, run, problems),
        (None, None) => {
            let script = run.result.official_accuracy.as_deref();
            let script = script.unwrap_or("the official accuracy script of the benchmark");
            problems.fault(format!(
                "[[result]] {name}: write accuracy_txt, the file with the output of: {script}"
            ));
            return None;
        }
    };
    let hash = &run.accuracy_log.sha256;
    let is_hash = |line: &&str| line.starts_with("hash=");
    match text.lines().find(is_hash).map(|line| line.trim_start_matches("hash=").trim_end()) {
        None => Some(with_hash(&text, hash)),
        Some(found) if found == hash => Some(text),
        Some(_) => {
            problems.fault(format!(
                "[[result]] {name}: the hash in accuracy_txt is not that of the accuracy log in {}; \
                 run the accuracy script on that log",
                run.name
            ));
            None
        }
    }
}

/// The text with the hash of the log, as the official script appends it.
pub(super) fn with_hash(text: &str, sha256: &str) -> String {
    format!("{text}\nhash={sha256}\n")
}

fn given(
    path: &Path,
    benchmark: Option<&Benchmark>,
    counted: Option<&Accuracy>,
    problems: &mut Problems,
) -> Option<String> {
    let place = path.display().to_string();
    let text = regular::read_to_string(path)
        .map_err(|error| problems.fault(format!("accuracy_txt {place}: {error}")))
        .ok()?;
    if let Some(benchmark) = benchmark {
        match compliance::accuracy_of(path, benchmark) {
            Ok(values) => {
                for (metric, value) in values {
                    check(&metric, value, benchmark, &place, problems);
                    let is_counted = benchmark.quality.first().is_some_and(|q| q.metric == metric);
                    if let Some(counted) = counted.filter(|_| is_counted)
                        && !is_as_counted(value, counted)
                    {
                        problems.fault(format!(
                            "accuracy_txt {place}: {metric} is {value}, and the run itself counted {}; leave accuracy_txt out",
                            counted.metric.value
                        ));
                    }
                }
            }
            Err(error) => {
                for problem in error.problems() {
                    problems.fault(format!(
                        "accuracy_txt {problem}; give the output of the official accuracy script"
                    ));
                }
            }
        }
    }
    Some(text)
}

/// The line of the official accuracy-imagenet.py.
fn counted(
    accuracy: &Accuracy,
    benchmark: Option<&Benchmark>,
    run: &Run,
    problems: &mut Problems,
) -> String {
    let Accuracy { correct, total, .. } = accuracy;
    let percent = format!("{:.3}", 100.0 * *correct as f64 / *total as f64);
    if let (Some(benchmark), Ok(value)) = (benchmark, percent.parse()) {
        check("acc", value, benchmark, &run.name, problems);
    }
    format!("accuracy={percent}%, good={correct}, total={total}\n")
}

fn check(metric: &str, value: f64, benchmark: &Benchmark, place: &str, problems: &mut Problems) {
    // Products of decimal fractions have long tails.
    let shown = |target: f64| (target * 1e6).round() / 1e6;
    for quality in benchmark.quality.iter().filter(|quality| quality.metric == metric) {
        if value < quality.least {
            let text =
                format!("{metric} is {value}; at least {} is asked for", shown(quality.least));
            problems.broken(2, place, text);
        }
        if let Some(most) = quality.most.filter(|most| value > *most) {
            let text = format!("{metric} is {value}; at most {} is asked for", shown(most));
            problems.broken(2, place, text);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn percentages_are_rounded_as_the_official_script_does() {
        // Ties are exact only in such cases; Python prints the same.
        for (correct, total, want) in [
            (493, 500, "98.600"),
            (1, 1600, "0.062"),
            (3, 1600, "0.188"),
            (38_500, 50_000, "77.000"),
        ] {
            assert_eq!(format!("{:.3}", 100.0 * f64::from(correct) / f64::from(total)), want);
        }
    }
}
