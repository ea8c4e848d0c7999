//! Benchmarks whose metric needs what a LoadGen node does not have (annotations, official evaluation code): their accuracy
//! log is checked for what the official script will read, and the script is named. Scripts are those of mlcommons/inference, tag
//! v5.0.1; of Llama 3.1 8B and DeepSeek-R1 v5.1.1.

use std::path::Path;

use super::one_for_each_sample;
use crate::official_log::{LogError, Response};

/// A benchmark's answers, and the script that turns them into its metric.
pub(crate) struct OfficialScript {
    /// Names of the benchmark begin with it.
    name: &'static str,
    file: &'static str,
    /// What follows it in the command, but for the log's path.
    options: &'static str,
    answers: Answers,
}

/// What an answer looks like.
enum Answers {
    /// float32, so many at a time, each within these bounds.
    Floats { group: usize, least: f32, most: f32 },
    /// uint8, each at most so large.
    Bytes { most: u8 },
    /// Ids of tokens, int32, one at least.
    Tokens,
}

const ANY: (f32, f32) = (f32::MIN, f32::MAX);

/// Of the scripts that have one form for several models.
const OF_TOKENS: &str =
    "--checkpoint-path DIR --dataset-file FILE --dtype int32 --mlperf-accuracy-file";

const SCRIPTS: [OfficialScript; 10] = [
    OfficialScript {
        name: "retinanet",
        // It prints a line for each detection, since a node does not know a sample's index (docs/MODELS.md).
        file: "vision/classification_and_detection/tools/accuracy-openimages.py",
        options: "--openimages-dir DIR --mlperf-accuracy-file",
        answers: Answers::Floats { group: 7, least: ANY.0, most: ANY.1 },
    },
    OfficialScript {
        name: "bert",
        file: "language/bert/accuracy-squad.py",
        options: "--vocab_file FILE --val_data FILE --features_cache_file FILE --output_dtype float32 --log_file",
        answers: Answers::Floats { group: 2, least: ANY.0, most: ANY.1 },
    },
    OfficialScript {
        name: "3d-unet",
        file: "vision/medical_imaging/3d-unet-kits19/accuracy_kits.py",
        options: "--output_dtype uint8 --preprocessed_data_dir DIR --postprocessed_data_dir DIR --log_file",
        answers: Answers::Bytes { most: 2 },
    },
    OfficialScript {
        name: "dlrm",
        file: "recommendation/dlrm_v2/pytorch/tools/accuracy-dlrm.py",
        options: "--day-23-file FILE --aggregation-trace-file FILE --dtype float32 --mlperf-accuracy-file",
        answers: Answers::Floats { group: 1, least: 0.0, most: 1.0 },
    },
    of_tokens(
        "gptj",
        "language/gpt-j/evaluation.py",
        "--dataset-file FILE --dtype int32 --mlperf-accuracy-file",
    ),
    of_tokens("llama2-70b", "language/llama2-70b/evaluate-accuracy.py", OF_TOKENS),
    of_tokens("llama3.1-405b", "language/llama3.1-405b/evaluate-accuracy.py", OF_TOKENS),
    of_tokens("mixtral-8x7b", "language/mixtral-8x7b/evaluate-accuracy.py", OF_TOKENS),
    of_tokens(
        "llama3.1-8b",
        "language/llama3.1-8b/evaluation.py",
        "--model-name DIR --dataset-file FILE --dtype int32 --mlperf-accuracy-file",
    ),
    of_tokens(
        "deepseek-r1",
        "language/deepseek-r1/eval_accuracy.py",
        "--dataset-file FILE --input-file",
    ),
];

const fn of_tokens(
    name: &'static str,
    file: &'static str,
    options: &'static str,
) -> OfficialScript {
    OfficialScript { name, file, options, answers: Answers::Tokens }
}

/// The script of a benchmark: of `3d-unet-99.9` as of `3d-unet`.
pub(crate) fn script(benchmark: &str) -> Option<&'static OfficialScript> {
    SCRIPTS.iter().find(|script| benchmark.starts_with(script.name))
}

impl OfficialScript {
    /// What to run for the official metric.
    pub(crate) fn command(&self, log: &Path) -> String {
        format!("python3 {} {} {}", self.file, self.options, log.display())
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
        ] {
            let response = Response { qsl_idx: 0, data };
            let outcome = script(benchmark).unwrap().check([Ok(response)].into_iter(), 1);
            match want {
                None => outcome.unwrap(),
                Some(want) => assert!(outcome.unwrap_err().contains(want), "{benchmark}"),
            }
        }
        assert!(script("resnet50").is_none());
        let missing = script("bert").unwrap().check(std::iter::empty(), 1);
        assert!(missing.unwrap_err().contains("lacks sample 0"));
    }
}
