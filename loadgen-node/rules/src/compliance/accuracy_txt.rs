//! `accuracy.txt`: the output of a benchmark's official accuracy script, read like in the official
//! checker.

use std::path::Path;

use super::{bare::bare, error::ComplianceError};
use crate::{
    book::{Benchmark, Formats},
    input::files,
    tree::ACCURACY_TXT,
};

/// Values of metrics in the order of the file, each with the official checker's name of the metric.
pub type Metrics = Vec<(String, f64)>;

/// Reads the benchmark's metrics from `accuracy.txt`, in the formats of a round. Returns every
/// occurrence, because [`Benchmark::missed_targets`] checks each of them.
///
/// # Errors
///
/// Fails with all metrics that are missing or not a number.
pub fn accuracy_of(
    path: &Path,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Result<Metrics, ComplianceError> {
    metrics(path, &read(path)?, benchmark, formats)
}

pub(super) fn read(path: &Path) -> Result<String, ComplianceError> {
    files::read_to_string(path).map_err(|error| ComplianceError::new(path, error))
}

/// Extracts the benchmark's metrics from `text`, the contents of the file `path`. Errors name this
/// file.
pub(super) fn metrics(
    path: &Path,
    text: &str,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Result<Metrics, ComplianceError> {
    let metrics = benchmark.quality.iter().map(|quality| quality.metric.as_str());
    let (mut found, mut problems) = (vec![], vec![]);
    for line in text.split(['\n', '\r']) {
        for metric in metrics.clone() {
            match formats.figure(metric, line).map(|figure| (figure, figure.parse())) {
                None => {}
                Some((_, Ok(value))) => found.push((metric.to_owned(), value)),
                Some((figure, Err(_))) => {
                    problems.push(format!("{metric} `{figure}` is not a number"))
                }
            }
        }
    }
    let missing = metrics.filter(|metric| found.iter().all(|(name, _)| name != metric));
    problems.extend(missing.map(|metric| {
        let readers = formats.readers(ACCURACY_TXT);
        match text.lines().map(bare).find(|line| formats.figure(metric, line).is_some()) {
            Some(line) => format!(
                "{metric} has a form that {readers} does not read; write `{}`",
                line.trim()
            ),
            None => format!(
                "{metric} is missing: the official accuracy script of {} prints it, and {readers} reads it",
                benchmark.name
            ),
        }
    }));
    if problems.is_empty() {
        return Ok(found);
    }
    let name = |why| format!("{}: {why}", path.display());
    Err(ComplianceError(problems.into_iter().map(name).collect()))
}

/// Reads the hash in `accuracy.txt`: the SHA-256 of the accuracy log before truncation, in hex.
/// `None` if no line contains it.
pub fn accuracy_hash(path: &Path) -> Result<Option<String>, ComplianceError> {
    let text = read(path)?;
    let is_word = |hash: &&str| {
        !hash.is_empty() && hash.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut hashes = text.split(['\n', '\r']).filter_map(|line| line.strip_prefix("hash="));
    Ok(hashes.rfind(is_word).map(Into::into))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::book::Table;

    fn of_5_0() -> Formats {
        Formats::of("v5.0".parse().ok())
    }

    fn metrics_of(benchmark: &str, text: &str) -> Result<Metrics, ComplianceError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        accuracy_of(file.path(), Table::builtin().unwrap().find(benchmark).unwrap(), &of_5_0())
    }

    /// The expected values are those of the official patterns; `None` if they find nothing.
    #[test]
    fn figures_are_those_of_the_official_patterns() {
        for (metric, line, want) in [
            ("acc", "accuracy=76.456%, good=38228, total=50000", Some("76.456")),
            ("acc", r#"{"accuracy": 72.8, "total": 1}"#, Some("72.8")),
            ("acc", "accuracy = 76.4", Some("76.4")),
            ("acc", "the accuracy=76.4", None),
            ("acc", "accuracy is 76.4", None),
            ("AUC", "AUC=80.251%, accuracy=0.96", Some("80.251")),
            ("mAP", "mAP=37.55%", Some("37.55")),
            ("mAP", "mAP = 37.55%", None),
            ("bleu", "BLEU:  24.0", Some("24.0")),
            ("F1", r#"{"exact_match": 83.67, "f1": 90.87}"#, Some("90.87")),
            ("F1", "{'exact_match': 83.67,'f1': 90.87} and more", Some("90.87")),
            ("F1", r#"{"exact_match": 83.67, "f1": 90.87, "n": 1}"#, None),
            ("WER", "Word Error Rate: 0.074, accuracy=92.5%, accuracy=91.0%", Some("91.0")),
            ("WER", "Word Error Rate: 0.074, accuracy=92.5%, accuracy=91", Some("92.5")),
            ("DICE", "Accuracy: mean = 0.86170, kidney tumor = 0.9", Some("0.86170")),
            ("DICE", "Accuracy: median = 0.86170", None),
            ("ROUGE1", "{'rouge1': 42.9, 'rouge2': 20.1}", Some("42.9")),
            ("ROUGE2", "{'rouge1': 42.9, 'rouge2': 20.1}", Some("20.1")),
            ("ROUGEL", "{'rougeL': 1.5, 'rougeL': 2.5, 'rougeL': none}", Some("2.5")),
            ("ROUGELSUM", "{'rougeLsum': 40.1}", Some("40.1")),
            ("GEN_LEN", "{'gen_len': 4016878}", Some("4016878")),
            ("TOKENS_PER_SAMPLE", "{'tokens_per_sample':294.45}", None),
            ("TOKENS_PER_SAMPLE", "{'tokens_per_sample': 294.45}", Some("294.45")),
            ("CLIP_SCORE", "{'FID_SCORE': 23.1, 'CLIP_SCORE': 31.7}", Some("31.7")),
            ("CLIP_SCORE", "{'CLIP_SCORE': '31.7'}", None),
            ("FID_SCORE", "{'FID_SCORE': 23.1}", Some("23.1")),
            ("gsm8k_accuracy", "{'gsm8k': 73.66, 'mbxp': 60.16}", Some("73.66")),
            ("mbxp_accuracy", "{'gsm8k': 73.66, 'mbxp': 60.16}", Some("60.16")),
            ("exact_match", "{'exact_match': 90.1}", Some("90.1")),
        ] {
            assert_eq!(of_5_0().figure(metric, line), want, "{metric} in {line}");
        }
    }

    #[test]
    fn every_metric_is_found_or_missed() {
        let text = "{'CLIP_SCORE': 31.7, 'FID_SCORE': 23.1}\nhash=ab\n{'CLIP_SCORE': 31.8}";
        let found = [("CLIP_SCORE", 31.7), ("FID_SCORE", 23.1), ("CLIP_SCORE", 31.8)];
        let found = found.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(metrics_of("stable-diffusion-xl", text).unwrap(), found);

        let error = metrics_of("stable-diffusion-xl", "{'CLIP_SCORE': 3.1.7}").unwrap_err();
        assert_eq!(error.problems().len(), 3, "{error}");
        assert_eq!(metrics_of("resnet50", "accuracy=76.5%\r\n").unwrap(), [("acc".into(), 76.5)]);
        assert!(
            accuracy_of(Path::new("/nowhere"), &Table::builtin().unwrap().benchmarks[0], &of_5_0())
                .is_err()
        );
    }

    #[test]
    fn the_last_hash_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let hash = |text| {
            std::fs::write(file.path(), text).unwrap();
            accuracy_hash(file.path()).unwrap()
        };
        assert_eq!(hash("accuracy=1%\nhash=ab01\nhash=cd02\n").as_deref(), Some("cd02"));
        assert_eq!(hash("hash=ab 01\n hash=ab\nhash=\n"), None);
    }
}
