//! `accuracy.txt`: the output of a benchmark's official accuracy script, read like in the official
//! checker, and completed where the checker cannot read it.

use std::path::Path;

use super::part::ComplianceError;
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

fn read(path: &Path) -> Result<String, ComplianceError> {
    files::read_to_string(path).map_err(|error| ComplianceError::new(path, error))
}

/// Extracts the benchmark's metrics from `text`, the contents of the file `path`. Errors name this
/// file.
fn metrics(
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

/// Reads the benchmark's metrics from the file with a script's output. Returns the metrics, and the
/// text for `accuracy.txt`: the output, followed by lines that the official checker can read if it
/// cannot read the metrics as printed.
pub fn printed_accuracy(
    path: &Path,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Result<(Metrics, String), ComplianceError> {
    let text = read(path)?;
    if let Ok(found) = metrics(path, &text, benchmark, formats) {
        return Ok((found, text));
    }
    let bare = text.lines().map(|line| (line, bare(line)));
    let lines: Vec<_> = bare.filter(|(line, bare)| line != bare).map(|(_, bare)| bare).collect();
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    let text = [text, end.into(), lines.join("\n")].concat() + "\n";
    Ok((metrics(path, &text, benchmark, formats)?, text))
}

/// Appends the hash of the accuracy log to a text, like the official script.
pub fn with_hash(text: &str, sha256: &str) -> String {
    format!("{text}\nhash={sha256}\n")
}

/// Marks before and after a figure in a printed Python dictionary: NumPy 2 prints the types of its
/// numbers, and the scripts of GPT-J and Llama 3.1 8B print strings.
const AROUND: [(&str, char); 5] = [
    ("np.float64(", ')'),
    ("np.float32(", ')'),
    ("np.int64(", ')'),
    ("np.int32(", ')'),
    ("'", '\''),
];

/// Removes the marks around all figures in a line of a printed dictionary.
fn bare(line: &str) -> String {
    let mut parts = line.split("': ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let figure = AROUND.into_iter().find_map(|(before, after)| {
            let rest = part.strip_prefix(before)?;
            let figure = leading_number(rest)?;
            Some((figure, rest[figure.len()..].strip_prefix(after)?))
        });
        let (figure, rest) = figure.unwrap_or(("", part));
        text += &["': ", figure, rest].concat();
    }
    text
}

/// Returns the digits and dots at the start of a text.
fn leading_number(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some(&text[..end]).filter(|number| !number.is_empty())
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

    #[test]
    fn what_is_no_figure_stays_as_it_is() {
        for line in ["{'a': 'b', 'c': '1x', 'd': np.float64(1.5, 'e': '", "accuracy=76.5%", ""] {
            assert_eq!(bare(line), line);
        }
        assert_eq!(bare("{'a': '1.5', 'b': np.int64(7)}"), "{'a': 1.5, 'b': 7}");
    }

    /// Output of the scripts of tag v5.0.1 with NumPy 2.4. The script of `mixtral-8x7b` prints MBXP
    /// first.
    const LLAMA2: &str = "\nResults\n\n{'rouge1': np.float64(79.7075), 'rouge2': np.float64(63.4958), 'rougeL': np.float64(79.7075), \
                          'rougeLsum': np.float64(79.7075), 'gen_len': np.int64(21955), 'gen_num': 60, 'gen_tok_len': 2549, \
                          'tokens_per_sample': 42.5}\n";
    const LLAMA3: &str = "\nResults\n\n{'exact_match': 50.0, 'rougeL': 81.50240274781268, 'gen_len': np.int64(21955), 'gen_num': 60, \
                          'gen_tok_len': 2549, 'tokens_per_sample': 42.5}\n";
    const MIXTRAL: &str = "Processed 20 in 0.047816654998314334s\n 50.00% pass@1\n{'python': 10} {'python': 20}\n\nResults\n\n\
                           {'rouge1': 81.5024, 'rouge2': 66.4953, 'rougeL': 81.5024, 'rougeLsum': 81.5024, 'gsm8k': 25.0, \
                           'mbxp': 50.0, 'gen_len': 7750, 'gen_num': 60, 'gen_tok_len': 2549, 'tokens_per_sample': 42.5}\n";
    const GPTJ: &str = "\nResults\n\n{'rouge1': '79.7075', 'rouge2': '63.4958', 'rougeL': '79.7075', 'rougeLsum': '79.7075', \
                        'gen_len': np.int64(21955), 'gen_num': 60}\n";

    /// Output of the scripts of tag v5.1.1 with NumPy 2.4.
    const LLAMA3_8B: &str = "\nResults\n\n{'rouge1': '97.3623', 'rouge2': '97.3271', 'rougeL': '97.3623', 'rougeLsum': '97.3623', \
                             'gen_len': np.int64(34730), 'gen_num': 60}\n";
    const DEEPSEEK: &str = "\nResults\n\n{'exact_match': 10.0, 'tokens_per_sample': 85.18333333333334, 'num-samples': 60}\n";

    /// Converts output with NumPy 2 into the form that NumPy 1.26 prints.
    fn of_numpy_1(text: &str) -> String {
        let text = text.replace("np.float64(", "").replace("np.int64(", "");
        text.replace("),", ",").replace(")}", "}")
    }

    #[test]
    fn what_the_official_scripts_print_is_found() {
        let rouge = "ROUGE1 79.7075, ROUGE2 63.4958, ROUGEL 79.7075";
        let llama2 = format!("{rouge}, TOKENS_PER_SAMPLE 42.5");
        let llama3 = "ROUGEL 81.50240274781268, exact_match 50, TOKENS_PER_SAMPLE 42.5".to_owned();
        let mixtral = "ROUGE1 81.5024, ROUGE2 66.4953, ROUGEL 81.5024, gsm8k_accuracy 25, mbxp_accuracy 50, TOKENS_PER_SAMPLE 42.5";
        let gptj = format!("{rouge}, GEN_LEN 21955");
        let deepseek = "exact_match 10, TOKENS_PER_SAMPLE 85.18333333333334";
        let llama3_8b =
            "ROUGE1 97.3623, ROUGE2 97.3271, ROUGEL 97.3623, ROUGELSUM 97.3623, GEN_LEN 34730";
        let formats = Formats::of("v5.0".parse().ok());
        for (benchmark, printed, as_printed, want) in [
            ("llama2-70b-99", of_numpy_1(LLAMA2), true, llama2.clone()),
            ("llama2-70b-99.9", LLAMA2.into(), false, format!("TOKENS_PER_SAMPLE 42.5, {llama2}")),
            ("llama3.1-405b", of_numpy_1(LLAMA3), true, llama3.clone()),
            ("llama3.1-405b", LLAMA3.into(), true, llama3),
            ("mixtral-8x7b", MIXTRAL.into(), true, mixtral.into()),
            ("gptj-99", of_numpy_1(GPTJ), false, format!("GEN_LEN 21955, {gptj}")),
            ("gptj-99.9", GPTJ.into(), false, gptj),
            ("llama3.1-8b", LLAMA3_8B.into(), false, llama3_8b.into()),
            ("deepseek-r1", DEEPSEEK.into(), true, deepseek.into()),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &printed).unwrap();
            let benchmark = Table::builtin().unwrap().find(benchmark).unwrap();
            let name = &benchmark.name;
            assert_eq!(accuracy_of(file.path(), benchmark, &formats).is_ok(), as_printed, "{name}");
            let (found, text) = printed_accuracy(file.path(), benchmark, &formats).unwrap();
            let found = found.iter().map(|(name, value)| format!("{name} {value}"));
            assert_eq!(found.collect::<Vec<_>>().join(", "), want, "{name}");
            assert!(text.starts_with(&printed), "{name}");
            assert_eq!(text == printed, as_printed, "{name}");
            std::fs::write(file.path(), &text).unwrap();
            assert!(accuracy_of(file.path(), benchmark, &formats).is_ok(), "{name}: {text}");
        }
    }
}
