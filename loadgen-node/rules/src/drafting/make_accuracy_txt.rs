//! Makes `accuracy.txt`: the output of the official accuracy script, and the hash of the complete
//! accuracy log.

use std::path::Path;

use super::{gap::Problems, runs::RunFolder, submission_toml::ResultSettings};
use crate::{
    book::{Benchmark, Formats},
    compliance,
    input::files,
    record::Accuracy,
    tree::ACCURACY_TXT,
};

/// Makes the text of `accuracy.txt` from the output of the official script, or from the run's own
/// count of right responses if there is no such output. Adds a fault and returns `None` if neither
/// exists.
pub(super) fn make(
    base: &Path,
    name: &str,
    settings: &ResultSettings,
    run: &RunFolder,
    benchmark: Option<(&Benchmark, &Formats)>,
    problems: &mut Problems,
) -> Option<String> {
    // Path of the file that `loadgen-node accuracy` writes into the run folder.
    let beside = settings.accuracy.as_ref().map(|folder| folder.join(ACCURACY_TXT));
    let beside = beside.filter(|path| base.join(path).exists());
    let text = match (settings.accuracy_txt.as_ref().or(beside.as_ref()), &run.result.accuracy) {
        (Some(path), _) => read_script_output(&base.join(path), benchmark, problems)?,
        (None, Some(accuracy)) => format_accuracy_line(accuracy),
        (None, None) => {
            let script = run.result.official_accuracy.as_deref();
            let script = script.unwrap_or("the official accuracy script of the benchmark");
            problems.fault(format!(
                "[[result]] {name}: its accuracy run has no {ACCURACY_TXT}; make it with `loadgen-node accuracy`, using: {script}"
            ));
            return None;
        }
    };
    let has_hash = text.lines().any(|line| line.starts_with("hash="));
    Some(if has_hash { text } else { compliance::with_hash(&text, &run.accuracy_log.sha256) })
}

/// Reads the script's output, which must contain the benchmark's metrics.
fn read_script_output(
    path: &Path,
    benchmark: Option<(&Benchmark, &Formats)>,
    problems: &mut Problems,
) -> Option<String> {
    let Some((benchmark, formats)) = benchmark else {
        let text = files::read_to_string(path);
        return text
            .map_err(|error| problems.fault_in(path.display(), format!("accuracy_txt: {error}")))
            .ok();
    };
    match compliance::printed_accuracy(path, benchmark, formats) {
        Ok((_, text)) => Some(text),
        Err(error) => {
            for problem in error.problems() {
                problems.fault(format!(
                    "accuracy_txt {problem}; use the output of the official accuracy script"
                ));
            }
            None
        }
    }
}

/// Formats the line that the official accuracy-imagenet.py prints.
fn format_accuracy_line(accuracy: &Accuracy) -> String {
    let Accuracy { correct, total, .. } = accuracy;
    let percent = 100.0 * *correct as f64 / *total as f64;
    format!("accuracy={percent:.3}%, good={correct}, total={total}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Metric;

    #[test]
    fn the_line_is_that_of_the_official_script() {
        // Python rounds exact ties to even, too.
        for (correct, total, want) in [
            (493, 500, "accuracy=98.600%, good=493, total=500\n"),
            (1, 1600, "accuracy=0.062%, good=1, total=1600\n"),
            (3, 1600, "accuracy=0.188%, good=3, total=1600\n"),
            (38_500, 50_000, "accuracy=77.000%, good=38500, total=50000\n"),
        ] {
            let metric = Metric { name: "acc".into(), value: 0.0, unit: "%".into() };
            let accuracy = Accuracy { metric, correct, total, reported: String::new() };
            assert_eq!(format_accuracy_line(&accuracy), want);
        }
    }
}
