//! Output of an official script, in a form that the official checker can read.

use std::path::Path;

use super::{
    accuracy_txt::{Metrics, metrics, read},
    bare::bare,
    error::ComplianceError,
};
use crate::book::{Benchmark, Formats};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{book::Table, compliance::accuracy_of};

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
