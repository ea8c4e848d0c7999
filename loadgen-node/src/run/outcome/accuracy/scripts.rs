//! The official scripts of mlcommons/inference: tag v5.0.1, v5.1.1 for Llama 3.1 8B and
//! DeepSeek-R1, and commit b66003e1 for gpt-oss-120b and Whisper.

use crate::run::outcome::accuracy::{
    LABEL_MAP,
    official::{OfficialScript, OptionValue, ResponseFormat, Trial},
};

const ANY: (f32, f32) = (f32::MIN, f32::MAX);
const INT32: (&str, OptionValue) = ("--dtype", OptionValue::Text("int32"));
const CHECKPOINT: (&str, &str) = ("--checkpoint-path", "CHECKPOINT");
const DATASET: (&str, &str) = ("--dataset-file", "FILE");

/// Packages of the scripts that compute ROUGE scores of texts.
const ROUGE: &str = "absl-py==2.3.1 datasets==5.0.1 evaluate==0.4.6 nltk==3.10.4 numpy==2.4.6 \
    pandas==2.3.3 protobuf==7.36.2 rouge-score==0.1.2 sentencepiece==0.2.1 transformers==4.57.6";

/// Packages of the scripts that use LiveCodeBench. It imports names that later versions of anthropic
/// no longer have, and reads a data set that is loaded by a program, which later versions of datasets
/// refuse.
const CODE: &str = "anthropic==0.49.0 datasets==3.6.0 numpy==2.4.6 pandas==2.3.3 pylatexenc==2.11 \
    sympy==1.14.0 tqdm==4.67.1 transformers==4.57.6";

/// Submodule with LiveCodeBench, to which the folders of all scripts lead.
const LIVE_CODE_BENCH: &str = "language/deepseek-r1/submodules/LiveCodeBench";

/// Defaults of a script: it prints its metric, and its only option names the log.
const PLAIN: OfficialScript = OfficialScript {
    name: "",
    file: "",
    asked: &[],
    free: &[],
    submodules: &[],
    trial: None,
    unjudged: &[],
    has_shell: false,
    runs_code: false,
    known: &[],
    log: "--mlperf-accuracy-file",
    takes_folder: false,
    report: None,
    packages: "",
    answers: ResponseFormat::Tokens,
};

const SCRIPTS: [OfficialScript; 15] = [
    OfficialScript {
        name: "resnet50",
        file: "vision/classification_and_detection/tools/accuracy-imagenet.py",
        known: &[
            (
                "--imagenet-val-file",
                OptionValue::LeftByRun(LABEL_MAP, "make the accuracy run with --labels"),
            ),
            INT32,
        ],
        packages: "numpy==2.4.6",
        answers: ResponseFormat::Class,
        ..PLAIN
    },
    OfficialScript {
        name: "retinanet",
        // The script prints a line for each detection, because a node does not know a sample's
        // index (docs/ENGINES.md).
        file: "vision/classification_and_detection/tools/accuracy-openimages.py",
        asked: &[("--openimages-dir", "DIR")],
        free: &["--use-inv-map"],
        known: &[("--output-file", OptionValue::OfRun("openimages-results.json"))],
        packages: "numpy==2.4.6 pycocotools==2.0.11",
        answers: ResponseFormat::Floats { group: 7, least: ANY.0, most: ANY.1 },
        ..PLAIN
    },
    OfficialScript {
        name: "bert",
        file: "language/bert/accuracy-squad.py",
        asked: &[("--vocab_file", "FILE"), ("--val_data", "FILE")],
        submodules: &["language/bert/DeepLearningExamples"],
        has_shell: true,
        known: &[
            ("--features_cache_file", OptionValue::OfRun("eval_features.pickle")),
            ("--out_file", OptionValue::OfRun("predictions.json")),
            ("--output_dtype", OptionValue::Text("float32")),
        ],
        log: "--log_file",
        // The script looks for its submodule only if PyTorch or TensorFlow is installed.
        packages: "boto3==1.44.5 numpy==1.26.4 requests==2.34.2 setuptools==80.9.0 six==1.17.0 \
                   torch==2.11.0 tqdm==4.67.1 transformers==4.57.6",
        answers: ResponseFormat::Floats { group: 2, least: ANY.0, most: ANY.1 },
        ..PLAIN
    },
    OfficialScript {
        name: "3d-unet",
        file: "vision/medical_imaging/3d-unet-kits19/accuracy_kits.py",
        asked: &[("--preprocessed_data_dir", "DIR")],
        free: &["--num_proc"],
        known: &[
            ("--postprocessed_data_dir", OptionValue::OfRun("postprocessed")),
            ("--output_dtype", OptionValue::Text("uint8")),
        ],
        log: "--log_file",
        packages: "nibabel==5.3.2 numpy==1.26.4 pandas==1.5.3",
        answers: ResponseFormat::Bytes { most: 2 },
        ..PLAIN
    },
    OfficialScript {
        name: "dlrm",
        file: "recommendation/dlrm_v2/pytorch/tools/accuracy-dlrm.py",
        asked: &[("--day-23-file", "FILE"), ("--aggregation-trace-file", "FILE")],
        known: &[("--dtype", OptionValue::Text("float32"))],
        packages: "numpy==2.4.6 scikit-learn==1.7.2",
        answers: ResponseFormat::Floats { group: 1, least: 0.0, most: 1.0 },
        ..PLAIN
    },
    OfficialScript {
        name: "stable-diffusion-xl",
        file: "text_to_image/tools/accuracy_coco.py",
        asked: &[("--caption-path", "FILE"), ("--statistics-path", "FILE")],
        free: &["--compliance-images-path", "--device", "--ids-path", "--low_memory"],
        known: &[("--output-file", OptionValue::OfRun("coco-results.json"))],
        packages: "ijson==3.4.0 numpy==2.4.6 open-clip-torch==2.26.1 pandas==2.3.3 pillow==13.0.0 \
                   scipy==1.17.1 torch==2.11.0 torchvision==0.26.0 tqdm==4.67.1",
        answers: ResponseFormat::Pixels(1024 * 1024 * 3),
        ..PLAIN
    },
    OfficialScript {
        name: "rgat",
        file: "graph/R-GAT/tools/accuracy_igbh.py",
        asked: &[("--dataset-path", "DIR")],
        free: &["--dataset-size"],
        known: &[INT32],
        report: Some("--output-file"),
        packages: "numpy==2.4.6 torch==2.11.0",
        answers: ResponseFormat::Class,
        ..PLAIN
    },
    OfficialScript {
        asked: &[DATASET],
        // The script downloads data that later versions of nltk no longer read.
        packages: "absl-py==2.3.1 datasets==5.0.1 evaluate==0.4.6 nltk==3.8.1 numpy==2.4.6 \
                   rouge-score==0.1.2 torch==2.11.0 transformers==4.57.6",
        ..token_script("gptj", "language/gpt-j/evaluation.py")
    },
    token_script("llama2-70b", "language/llama2-70b/evaluate-accuracy.py"),
    token_script("llama3.1-405b", "language/llama3.1-405b/evaluate-accuracy.py"),
    OfficialScript {
        free: &["--n_workers"],
        runs_code: true,
        trial: Some(Trial {
            program: include_str!("trials/mixtral_8x7b.py"),
            remedy: "it needs a clone of github.com/amazon-science/mxeval at e09974f990eeaf0c0e8f2b5eaff4be66effb2c86, named by the \
                     variable PYTHONPATH, and g++, node, php, ruby and `npm install -g typescript`",
        }),
        ..token_script("mixtral-8x7b", "language/mixtral-8x7b/evaluate-accuracy.py")
    },
    OfficialScript {
        asked: &[("--model-name", "CHECKPOINT"), DATASET],
        packages: "absl-py==2.3.1 datasets==5.0.1 evaluate==0.4.6 nltk==3.10.4 numpy==2.4.6 \
                   pandas==2.3.3 rouge-score==0.1.2 torch==2.11.0 transformers==4.57.6",
        ..token_script("llama3.1-8b", "language/llama3.1-8b/evaluation.py")
    },
    OfficialScript {
        asked: &[DATASET],
        known: &[("--output-file", OptionValue::OfRun("mlperf_log_accuracy_evaluated.pkl"))],
        submodules: &[LIVE_CODE_BENCH, "language/deepseek-r1/submodules/prm800k"],
        trial: Some(Trial {
            program: include_str!("trials/deepseek_r1.py"),
            remedy: "it needs its submodules as the checkout has them, and the data set livecodebench/code_generation_lite, which it \
                     fetches from Hugging Face",
        }),
        unjudged: &["Error evaluating row", "Error processing entry", "qsl_idx "],
        runs_code: true,
        log: "--input-file",
        packages: CODE,
        ..token_script("deepseek-r1", "language/deepseek-r1/eval_accuracy.py")
    },
    OfficialScript {
        asked: &[("--reference-data", "FILE"), ("--tokenizer", "CHECKPOINT")],
        free: &["--num-lcb-workers", "--verbose"],
        submodules: &[LIVE_CODE_BENCH],
        trial: Some(Trial {
            program: include_str!("trials/gpt_oss_120b.py"),
            remedy: "it needs its submodule as the checkout has it, and the data set livecodebench/code_generation_lite, which it \
                     fetches from Hugging Face",
        }),
        unjudged: &[
            " out of range (max",
            "Error evaluating",
            "Evaluation error",
            "Timeout evaluating",
        ],
        runs_code: true,
        known: &[],
        log: "--mlperf-log",
        packages: CODE,
        ..token_script("gpt-oss-120b", "language/gpt-oss-120b/eval_mlperf_accuracy.py")
    },
    OfficialScript {
        name: "whisper",
        file: "speech2text/accuracy_eval.py",
        asked: &[("--manifest", "FILE")],
        known: &[
            // The script reads no file of this folder.
            ("--dataset_dir", OptionValue::Text(".")),
            ("--output_dtype", OptionValue::Text("int8")),
        ],
        log: "--log_dir",
        takes_folder: true,
        packages: "more-itertools==11.2.1 numba==0.68.1 numpy==2.4.6 openai-whisper==20250625 \
                   regex==2026.11.19 tiktoken==0.14.0 torch==2.11.0 tqdm==4.67.1",
        // Places in the reference's list of 42 characters.
        answers: ResponseFormat::Bytes { most: 41 },
        ..PLAIN
    },
];

const fn token_script(name: &'static str, file: &'static str) -> OfficialScript {
    OfficialScript {
        name,
        file,
        asked: &[CHECKPOINT, DATASET],
        known: &[INT32],
        packages: ROUGE,
        ..PLAIN
    }
}

/// Returns the script of a benchmark. Variants such as `3d-unet-99.9` have the script of `3d-unet`.
pub(crate) fn script(benchmark: &str) -> Option<&'static OfficialScript> {
    SCRIPTS.iter().find(|script| benchmark.starts_with(script.name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::official_log::LoggedResponse;

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
            ("gpt-oss-120b-interactive", ids(&[200_005]), None),
            ("gpt-oss-120b", ids(&[]), Some("has 0 bytes")),
            ("whisper", vec![0, 41], None),
            ("whisper", Vec::new(), None),
            ("whisper", vec![42], Some("holds 42")),
            ("resnet50", ids(&[5]), None),
            ("rgat", ids(&[-7]), Some("holds -7")),
            ("rgat", vec![1], Some("has 1 bytes")),
            ("stable-diffusion-xl", vec![0; 1024 * 1024 * 3], None),
            ("stable-diffusion-xl", vec![0; 77], Some("has 77 bytes")),
        ] {
            let response = LoggedResponse { qsl_idx: 0, data };
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
