//! The official scripts that compute a metric from LoadGen's accuracy log. Most benchmarks' metric needs what a LoadGen node does not
//! have (annotations, evaluation code): their log is checked for what the script will read, and the script is named. Scripts are those
//! of mlcommons/inference, tag v5.0.1; of Llama 3.1 8B and DeepSeek-R1 v5.1.1.

use std::path::{Path, PathBuf};

use super::{LABEL_MAP, one_for_each_sample};
use crate::{
    official_log::{LogError, Response},
    output::ACCURACY,
};

/// A benchmark's answers, and the script that turns them into its metric.
#[derive(Debug)]
pub(crate) struct OfficialScript {
    /// Names of the benchmark begin with it.
    pub(crate) name: &'static str,
    /// In a checkout of mlcommons/inference.
    pub(crate) file: &'static str,
    /// Options whose values only the operator knows, each with what it takes.
    pub(crate) asked: &'static [(&'static str, &'static str)],
    /// Further options that change no figure.
    pub(crate) free: &'static [&'static str],
    /// Whether it gives paths to a shell without quotes.
    pub(crate) has_shell: bool,
    /// Options whose values are known.
    pub(crate) known: &'static [(&'static str, Value)],
    /// The option that takes the accuracy log.
    pub(crate) log: &'static str,
    /// The option that takes the file for what it finds, where that is not printed.
    pub(crate) report: Option<&'static str>,
    /// Python packages that it was run with.
    pub(crate) packages: &'static [&'static str],
    answers: Answers,
}

/// The value of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Text(&'static str),
    /// A file or folder that the script writes into the run's folder.
    OfRun(&'static str),
    /// A file that the run has left there, and what to do where it is missing.
    LeftByRun(&'static str, &'static str),
}

/// What an answer looks like.
#[derive(Debug)]
enum Answers {
    /// float32, so many at a time, each within these bounds.
    Floats { group: usize, least: f32, most: f32 },
    /// uint8, each at most so large.
    Bytes { most: u8 },
    /// uint8, so many.
    Pixels(usize),
    /// An int32 that is not negative.
    Class,
    /// Ids of tokens, int32, one at least.
    Tokens,
}

const ANY: (f32, f32) = (f32::MIN, f32::MAX);
const LOG: &str = "--mlperf-accuracy-file";
const INT32: (&str, Value) = ("--dtype", Value::Text("int32"));
const CHECKPOINT: (&str, &str) = ("--checkpoint-path", "DIR");
const DATASET: (&str, &str) = ("--dataset-file", "FILE");

/// What scripts about texts need.
const ROUGE: &[&str] = &[
    "absl-py==2.3.1",
    "evaluate==0.4.6",
    "nltk==3.10.4",
    "numpy==2.4.6",
    "pandas==2.3.3",
    "rouge-score==0.1.2",
    "sentencepiece==0.2.1",
    "transformers==4.57.6",
];

const SCRIPTS: [OfficialScript; 13] = [
    OfficialScript {
        name: "resnet50",
        file: "vision/classification_and_detection/tools/accuracy-imagenet.py",
        asked: &[],
        free: &[],
        has_shell: false,
        known: &[
            (
                "--imagenet-val-file",
                Value::LeftByRun(LABEL_MAP, "make the accuracy run with --labels"),
            ),
            INT32,
        ],
        log: LOG,
        report: None,
        packages: &["numpy==2.4.6"],
        answers: Answers::Class,
    },
    OfficialScript {
        name: "retinanet",
        // It prints a line for each detection, since a node does not know a sample's index (docs/MODELS.md).
        file: "vision/classification_and_detection/tools/accuracy-openimages.py",
        asked: &[("--openimages-dir", "DIR")],
        free: &["--use-inv-map"],
        has_shell: false,
        known: &[("--output-file", Value::OfRun("openimages-results.json"))],
        log: LOG,
        report: None,
        packages: &["numpy==2.4.6", "pycocotools==2.0.11"],
        answers: Answers::Floats { group: 7, least: ANY.0, most: ANY.1 },
    },
    OfficialScript {
        name: "bert",
        file: "language/bert/accuracy-squad.py",
        asked: &[("--vocab_file", "FILE"), ("--val_data", "FILE")],
        free: &[],
        has_shell: true,
        known: &[
            ("--features_cache_file", Value::OfRun("eval_features.pickle")),
            ("--out_file", Value::OfRun("predictions.json")),
            ("--output_dtype", Value::Text("float32")),
        ],
        log: "--log_file",
        report: None,
        packages: &["numpy==1.26.4", "setuptools==80.9.0", "six==1.17.0", "transformers==4.57.6"],
        answers: Answers::Floats { group: 2, least: ANY.0, most: ANY.1 },
    },
    OfficialScript {
        name: "3d-unet",
        file: "vision/medical_imaging/3d-unet-kits19/accuracy_kits.py",
        asked: &[("--preprocessed_data_dir", "DIR")],
        free: &["--num_proc"],
        has_shell: false,
        known: &[
            ("--postprocessed_data_dir", Value::OfRun("postprocessed")),
            ("--output_dtype", Value::Text("uint8")),
        ],
        log: "--log_file",
        report: None,
        packages: &["nibabel==5.3.2", "numpy==1.26.4", "pandas==1.5.3"],
        answers: Answers::Bytes { most: 2 },
    },
    OfficialScript {
        name: "dlrm",
        file: "recommendation/dlrm_v2/pytorch/tools/accuracy-dlrm.py",
        asked: &[("--day-23-file", "FILE"), ("--aggregation-trace-file", "FILE")],
        free: &[],
        has_shell: false,
        known: &[("--dtype", Value::Text("float32"))],
        log: LOG,
        report: None,
        packages: &["numpy==2.4.6", "scikit-learn==1.7.2"],
        answers: Answers::Floats { group: 1, least: 0.0, most: 1.0 },
    },
    OfficialScript {
        name: "stable-diffusion-xl",
        file: "text_to_image/tools/accuracy_coco.py",
        asked: &[("--caption-path", "FILE"), ("--statistics-path", "FILE")],
        free: &["--compliance-images-path", "--device", "--ids-path", "--low_memory"],
        has_shell: false,
        known: &[("--output-file", Value::OfRun("coco-results.json"))],
        log: LOG,
        report: None,
        packages: &[
            "ijson==3.4.0",
            "numpy==2.4.6",
            "open-clip-torch==2.26.1",
            "pandas==2.3.3",
            "pillow==13.0.0",
            "scipy==1.17.1",
            "torch==2.11.0",
            "torchvision==0.26.0",
            "tqdm==4.67.1",
        ],
        answers: Answers::Pixels(1024 * 1024 * 3),
    },
    OfficialScript {
        name: "rgat",
        file: "graph/R-GAT/tools/accuracy_igbh.py",
        asked: &[("--dataset-path", "DIR")],
        free: &["--dataset-size"],
        has_shell: false,
        known: &[INT32],
        log: LOG,
        report: Some("--output-file"),
        packages: &["numpy==2.4.6", "torch==2.11.0"],
        answers: Answers::Class,
    },
    OfficialScript {
        file: "language/gpt-j/evaluation.py",
        asked: &[DATASET],
        packages: &[
            "absl-py==2.3.1",
            "evaluate==0.4.6",
            "nltk==3.10.4",
            "numpy==2.4.6",
            "rouge-score==0.1.2",
            "simplejson==3.20.2",
            "torch==2.11.0",
            "transformers==4.57.6",
        ],
        ..of_tokens("gptj", "")
    },
    of_tokens("llama2-70b", "language/llama2-70b/evaluate-accuracy.py"),
    of_tokens("llama3.1-405b", "language/llama3.1-405b/evaluate-accuracy.py"),
    of_tokens("mixtral-8x7b", "language/mixtral-8x7b/evaluate-accuracy.py"),
    OfficialScript {
        asked: &[("--model-name", "DIR"), DATASET],
        ..of_tokens("llama3.1-8b", "language/llama3.1-8b/evaluation.py")
    },
    OfficialScript {
        asked: &[DATASET],
        known: &[],
        log: "--input-file",
        ..of_tokens("deepseek-r1", "language/deepseek-r1/eval_accuracy.py")
    },
];

const fn of_tokens(name: &'static str, file: &'static str) -> OfficialScript {
    OfficialScript {
        name,
        file,
        asked: &[CHECKPOINT, DATASET],
        free: &["--n_workers"],
        has_shell: false,
        known: &[INT32],
        log: LOG,
        report: None,
        packages: ROUGE,
        answers: Answers::Tokens,
    }
}

/// The script of a benchmark: of `3d-unet-99.9` as of `3d-unet`.
pub(crate) fn script(benchmark: &str) -> Option<&'static OfficialScript> {
    SCRIPTS.iter().find(|script| benchmark.starts_with(script.name))
}

impl OfficialScript {
    /// What to run for the official metric.
    pub(crate) fn command(&self, run: &Path) -> String {
        let asked = self.asked.iter().map(|(option, takes)| format!(" {option} {takes}"));
        let known = self.options(run).into_iter().map(|word| format!(" {word}"));
        format!("python3 {}{}{}", self.file, asked.collect::<String>(), known.collect::<String>())
    }

    /// The options whose values are known, with those of the run in this folder.
    pub(crate) fn options(&self, run: &Path) -> Vec<String> {
        let value = |value: &Value| match value {
            Value::Text(text) => (*text).to_owned(),
            Value::OfRun(name) | Value::LeftByRun(name, _) => run.join(name).display().to_string(),
        };
        let known = self.known.iter().map(|(option, of)| [(*option).to_owned(), value(of)]);
        let log = [self.log.to_owned(), run.join(ACCURACY).display().to_string()];
        known.chain([log]).flatten().collect()
    }

    /// The files and folders that it writes into the run's folder.
    pub(crate) fn written(&self, run: &Path) -> Vec<PathBuf> {
        let own = self.known.iter().filter_map(|(_, value)| match value {
            Value::OfRun(name) => Some(run.join(name)),
            Value::Text(_) | Value::LeftByRun(..) => None,
        });
        own.collect()
    }

    /// Checks that each sample has one answer that the script can read.
    pub(crate) fn check(
        &self,
        responses: impl Iterator<Item = Result<Response, LogError>>,
        total: usize,
    ) -> Result<(), String> {
        let keep = |response: &Response| {
            self.answers.check(&response.data).map_err(|why| {
                format!(
                    "the response to sample {} {why}, which is no answer of {}",
                    response.qsl_idx, self.name
                )
            })?;
            // MultiStream asks for some samples twice; in a batch of another size floats may differ in the last bits.
            Ok(response.data.len())
        };
        one_for_each_sample(responses, total, keep).map(drop)
    }
}

impl Answers {
    fn check(&self, data: &[u8]) -> Result<(), String> {
        match self {
            Self::Floats { group, least, most } => {
                let (floats, rest) = data.as_chunks::<4>();
                if !rest.is_empty() || !floats.len().is_multiple_of(*group) {
                    return Err(format!("has {} bytes", data.len()));
                }
                let bounds = least..=most;
                let float = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
                match floats.iter().map(float).find(|float| !bounds.contains(&float)) {
                    Some(float) => Err(format!("holds {float}")),
                    None => Ok(()),
                }
            }
            Self::Tokens => {
                let (ids, rest) = data.as_chunks::<4>();
                if !rest.is_empty() || ids.is_empty() {
                    return Err(format!("has {} bytes", data.len()));
                }
                match ids.iter().map(|id| i32::from_le_bytes(*id)).find(|id| *id < 0) {
                    Some(id) => Err(format!("holds {id}")),
                    None => Ok(()),
                }
            }
            Self::Class => match data.try_into().map(i32::from_le_bytes) {
                Err(_) => Err(format!("has {} bytes", data.len())),
                Ok(class) if class < 0 => Err(format!("holds {class}")),
                Ok(_) => Ok(()),
            },
            Self::Pixels(pixels) => {
                let got = data.len();
                (got == *pixels).then_some(()).ok_or_else(|| format!("has {got} bytes"))
            }
            Self::Bytes { most } => match data.iter().find(|byte| *byte > most) {
                Some(byte) => Err(format!("holds {byte}")),
                None => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_listed() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/SUBMISSION.md");
        let text = std::fs::read_to_string(path).unwrap();
        let row = |script: &OfficialScript| {
            let asked = script.asked.iter().map(|(option, takes)| format!("{option} {takes}"));
            let asked: Vec<_> = asked.collect();
            let asked =
                if asked.is_empty() { "nothing".into() } else { format!("`{}`", asked.join(" ")) };
            format!("| `{}` | `{}` | {asked} |", script.name, script.file)
        };
        let rows: Vec<_> = SCRIPTS.iter().map(row).collect();
        let rows = rows.join("\n");
        assert!(text.contains(&rows), "docs/SUBMISSION.md has to have:\n{rows}");
    }

    #[test]
    fn answers_that_the_script_cannot_read_are_found() {
        let floats =
            |floats: &[f32]| floats.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<_>>();
        let ids = |ids: &[i32]| ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<_>>();
        for (benchmark, data, want) in [
            ("retinanet", floats(&[0.0; 14]), None),
            ("retinanet", Vec::new(), None),
            ("retinanet", floats(&[0.0; 6]), Some("has 24 bytes")),
            ("bert-99.9", floats(&[1.0, f32::NAN]), Some("holds NaN")),
            ("bert-99", vec![0; 5], Some("has 5 bytes")),
            ("3d-unet-99", vec![0, 1, 2], None),
            ("3d-unet-99.9", vec![0, 3], Some("holds 3")),
            ("dlrm-v2-99", floats(&[0.5, 1.5]), Some("holds 1.5")),
            ("llama2-70b-interactive-99.9", ids(&[5, 2]), None),
            ("llama3.1-405b", ids(&[]), Some("has 0 bytes")),
            ("mixtral-8x7b", vec![0; 6], Some("has 6 bytes")),
            ("gptj-99", ids(&[5, -1]), Some("holds -1")),
            ("resnet50", ids(&[5]), None),
            ("rgat", ids(&[-7]), Some("holds -7")),
            ("rgat", vec![1], Some("has 1 bytes")),
            ("stable-diffusion-xl", vec![0; 1024 * 1024 * 3], None),
            ("stable-diffusion-xl", vec![0; 77], Some("has 77 bytes")),
        ] {
            let response = Response { qsl_idx: 0, data };
            let outcome = script(benchmark).unwrap().check([Ok(response)].into_iter(), 1);
            match want {
                None => outcome.unwrap(),
                Some(want) => assert!(outcome.unwrap_err().contains(want), "{benchmark}"),
            }
        }
        assert!(script("digits").is_none());
        let missing = script("bert").unwrap().check(std::iter::empty(), 1);
        assert!(missing.unwrap_err().contains("lacks sample 0"));
    }
}
