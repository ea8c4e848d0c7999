//! The engine that the operator chooses with `--engine`.

use std::{ffi::OsStr, path::PathBuf, str::FromStr};

use clap::{
    Arg, Command, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};
use netdiv_node_common::words::did_you_mean;
use serde::{Deserialize, Serialize};

/// Engine as the operator names it: by its name, or by the file of a plug-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EngineChoice {
    /// A built-in engine.
    Word(EngineName),
    /// The file of a plug-in.
    File(PathBuf),
}

/// Names of engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum EngineName {
    /// A model in ONNX format
    Onnx,
    /// A language model in ONNX format
    Decoder,
    /// A model in TorchScript, by libtorch
    Torch,
    /// No model, responds at once: for `loadgen-node fabric`
    None,
    /// No model, responds in batches after a time
    Echo,
    /// No model, responds token by token, like a language model
    Tokens,
    /// A serving engine, over HTTP
    Openai,
    /// Triton, over gRPC
    Kserve,
    /// A class in Python
    Python,
    /// A plug-in, which its file names.
    #[value(skip)]
    #[strum(to_string = "a plug-in")]
    PlugIn,
}

impl EngineName {
    /// Returns the short help of `--engine`, with a line for each engine. clap itself describes
    /// values in the long help only.
    pub(super) fn short_help() -> String {
        let line = |engine: &Self| {
            let value = engine.to_possible_value()?;
            Some(format!("\n{:<7}  {}", value.get_name(), value.get_help()?))
        };
        let lines: String = Self::value_variants().iter().filter_map(line).collect();
        format!(
            "Engine that runs the model [default: onnx]{lines}\nFILE     A plug-in, whose name has a / or ends in .so"
        )
    }
}

impl EngineChoice {
    pub(super) fn kind(&self) -> EngineName {
        match self {
            Self::Word(kind) => *kind,
            Self::File(_) => EngineName::PlugIn,
        }
    }
}

/// Parser of `--engine`. Help and completions list the names.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineParser;

impl TypedValueParser for EngineParser {
    type Value = EngineChoice;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<EngineChoice, clap::Error> {
        EngineChoice::from_str.parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = EngineName::value_variants().iter();
        Some(Box::new(words.filter_map(EngineName::to_possible_value)))
    }
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A file is a path; a value without a slash is a name.
        if text.contains('/') || text.ends_with(".so") {
            return Ok(Self::File(text.into()));
        }
        EngineName::from_str(text, false).map(Self::Word).map_err(|_| {
            let words: Vec<_> =
                EngineName::value_variants().iter().map(ToString::to_string).collect();
            let meant = match named_otherwise(text) {
                Some(engines) => format!(" ({engines})"),
                None => did_you_mean(text, words.iter().map(String::as_str)),
            };
            format!(
                "choose one of {}, or the file of a plug-in (with a / or ending in .so){meant}",
                words.join(", ")
            )
        })
    }
}

/// Returns advice for a value of `--engine` that names a well-known program, such as vllm, but not
/// an engine; `None` if the program is unknown.
fn named_otherwise(text: &str) -> Option<&'static str> {
    let letters = text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    Some(match letters.as_str() {
        "vllm" => "vLLM: openai",
        "sglang" | "sgl" => "SGLang: openai with --openai-dialect sglang",
        "trtllm" | "tensorrtllm" | "tensorrt" => {
            "TensorRT-LLM: openai with --openai-dialect trtllm"
        }
        "llamacpp" | "llamaserver" => "llama.cpp: openai with --openai-dialect llamacpp",
        "triton" | "tritonserver" => "Triton: kserve",
        "pytorch" | "libtorch" | "torchscript" => "PyTorch: torch",
        "onnxruntime" | "ort" => "models in ONNX format: onnx",
        "tgi" | "textgenerationinference" | "ollama" | "lmdeploy" => {
            "openai sends token ids to vLLM, SGLang, TensorRT-LLM and llama.cpp only: no engine is known to work with this server"
        }
        _ => return None,
    })
}

impl TryFrom<String> for EngineChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<EngineChoice> for String {
    fn from(choice: EngineChoice) -> Self {
        match choice {
            EngineChoice::Word(kind) => kind.to_string(),
            EngineChoice::File(file) => file.display().to_string(),
        }
    }
}

/// Returns a value of `--engine`, with its path converted by `place`. A value without a folder
/// stays unchanged: it names an engine, or a library on the system's search path.
pub(super) fn with_plugin(
    text: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    if text.contains('/') { place(text) } else { Ok(text.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_describes_every_engine() {
        let help = EngineName::short_help();
        let lines: Vec<_> = help.lines().collect();
        assert_eq!(lines.len(), EngineName::value_variants().len() + 2, "{help}");
        assert_eq!(lines[1], "onnx     A model in ONNX format");
        assert!(lines.iter().all(|line| line.len() < 80), "{help}");
    }

    #[test]
    fn an_engine_by_another_name_is_said_by_its_word() {
        for (text, want) in [
            ("vllm", "(vLLM: openai)"),
            ("vLLM", "(vLLM: openai)"),
            ("tensorrt-llm", "openai with --openai-dialect trtllm)"),
            ("TensorRT_LLM", "openai with --openai-dialect trtllm)"),
            ("sglang", "openai with --openai-dialect sglang)"),
            ("llama.cpp", "(llama.cpp: openai with --openai-dialect llamacpp)"),
            ("triton", "(Triton: kserve)"),
            ("tgi", "no engine is known to work with this server)"),
            ("opena", "(did you mean openai?)"),
            ("onx", "(did you mean onnx?)"),
            ("abacus", "(with a / or ending in .so)"),
        ] {
            let error = text.parse::<EngineChoice>().unwrap_err();
            assert!(error.ends_with(want), "{text}: {error}");
            assert!(error.starts_with("choose one of onnx, decoder, "), "{error}");
        }
    }
}
