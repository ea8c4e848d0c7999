//! The engines of a node, in one list.
//!
//! A row has the text of the help, the name, the settings, and the engine's own keys, if it has any.
//! The file of the engine declares all of them. `KEYS` of the settings names the keys that the engine
//! shares with others, and `resolve` checks the keys and fills in the defaults. The node uses the
//! settings by the trait [`EngineSettings`].

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    iter,
    path::PathBuf,
    str::FromStr,
    sync::{Arc, LazyLock},
};

use anyhow::ensure;
use clap::{
    Arg, Args as _, Command, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};
use netdiv_node_common::{
    process::{TimeSpan, parse_keys},
    words::did_you_mean,
};
use serde::Serialize;

use crate::{
    batching::batcher::BatchLimits,
    engine::{
        decoder::DecoderConfig,
        echo::{EchoArgs, EchoConfig},
        kserve::load::KserveConfig,
        none::NoModelConfig,
        onnx::{OnnxArgs, OnnxConfig},
        plugin::settings::{PluginArgs, PluginConfig},
        python::load::{PythonArgs, PythonConfig},
        served::settings::{OpenaiArgs, ServedConfig},
        settings::EngineSettings,
        shared_args::{Given, SharedArgs},
        tokens::settings::{TokensArgs, TokensConfig},
    },
};

macro_rules! engines {
    ($($(#[$about:meta])+ $name:ident: $settings:ty $(, $keys:ident: $args:ty)?;)+) => {
        /// Names of engines.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::Display)]
        #[strum(serialize_all = "kebab-case")]
        pub enum EngineName {
            $($(#[$about])+ $name,)+
        }

        /// An engine and its settings.
        #[derive(Debug, Clone, Serialize)]
        #[serde(untagged)]
        pub enum EngineConfig {
            $($(#[$about])+ $name(Arc<$settings>),)+
        }

        /// Keys of the engines.
        #[derive(Debug, Clone, clap::Args, Serialize)]
        #[command(next_help_heading = "Engine", mut_args = with_engines)]
        pub struct EngineArgs {
            /// Engine that runs the model, or the file of a plug-in [default: onnx]
            ///
            /// The file of a plug-in is named with a / or ends in .so.
            #[arg(long, value_parser = EngineParser, help = EngineName::short_help())]
            pub engine: Option<EngineChoice>,
            /// Keys that several engines have.
            #[command(flatten)]
            #[serde(flatten)]
            pub shared: SharedArgs,
            $($(
                /// Keys of one engine.
                #[command(flatten)]
                #[serde(flatten)]
                pub $keys: $args,
            )?)+
        }

        impl EngineName {
            /// Returns the keys that this engine has and not every other engine.
            fn keys(self) -> BTreeSet<String> {
                let (own, shared): (_, &[&str]) = match self {
                    $(Self::$name => {
                        let own = Command::new("");
                        $(let own = <$args>::augment_args(own);)?
                        (own, <$settings>::KEYS)
                    })+
                };
                let own = own.get_arguments().map(|key| key.get_id().to_string());
                own.chain(shared.iter().map(ToString::to_string)).collect()
            }
        }

        impl EngineConfig {
            pub(crate) fn settings(&self) -> &dyn EngineSettings {
                match self {
                    $(Self::$name(settings) => &**settings,)+
                }
            }
        }

        impl EngineArgs {
            fn resolve_for(
                &self,
                name: EngineName,
                given: &mut Given<'_>,
            ) -> anyhow::Result<EngineConfig> {
                Ok(match name {
                    $(EngineName::$name => {
                        EngineConfig::$name(Arc::new(<$settings>::resolve($(&self.$keys,)? given)?))
                    })+
                })
            }
        }
    };
}

engines! {
    /// A model in ONNX format
    Onnx: OnnxConfig, onnx: OnnxArgs;
    /// A language model in ONNX format
    Decoder: DecoderConfig;
    /// A model in TorchScript, by libtorch
    Torch: PluginConfig, plugin: PluginArgs;
    /// No model, responds at once: for `loadgen-node fabric`
    None: NoModelConfig;
    /// No model, responds in batches after a time
    Echo: EchoConfig, echo: EchoArgs;
    /// No model, responds token by token, like a language model
    Tokens: TokensConfig, tokens: TokensArgs;
    /// A serving engine, over HTTP
    Openai: ServedConfig, openai: OpenaiArgs;
    /// Triton, over gRPC
    Kserve: KserveConfig;
    /// A class in Python
    Python: PythonConfig, python: PythonArgs;
}

/// Engine as the operator names it: by its name, or by the file of a plug-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum EngineChoice {
    /// A built-in engine.
    Word(EngineName),
    /// The file of a plug-in, which has the keys of `torch`.
    File(PathBuf),
}

impl EngineArgs {
    /// Checks the settings and fills in the defaults. Reads the model's manifest, if it has one.
    /// Returns the settings of the engine, those of the batcher, and the maximum number of tokens of
    /// an output, which is `None` if outputs are not tokens.
    ///
    /// `cores` is the number of the machine's cores, `instances` the number of engine instances on
    /// each device. If `runs_code` is false, no engine in Python is asked for its declaration.
    pub(crate) fn resolve(
        &self,
        cores: usize,
        instances: usize,
        runs_code: bool,
    ) -> anyhow::Result<(EngineConfig, BatchLimits, Option<u32>)> {
        let (name, plugin) = match self.engine.clone() {
            None => (EngineName::Onnx, None),
            Some(EngineChoice::Word(name)) => (name, None),
            Some(EngineChoice::File(file)) => (EngineName::Torch, Some(file)),
        };
        self.check_keys(name)?;
        let mut given = Given {
            shared: &self.shared,
            plugin,
            runs_code,
            cores,
            instances,
            batching: self.shared.batching.clone(),
            default_batching: (1024, TimeSpan::ZERO),
            longest_output: None,
        };
        let config = self.resolve_for(name, &mut given)?;
        let (max_batch, timeout) = given.default_batching;
        Ok((config, given.batching.resolve(max_batch, timeout)?, given.longest_output))
    }

    /// Fails if a key that only other engines have is set to another value than its default.
    fn check_keys(&self, name: EngineName) -> anyhow::Result<()> {
        let defaults: Self = parse_keys(iter::empty::<&str>())?;
        let (given, defaults) = (serde_json::to_value(self)?, serde_json::to_value(defaults)?);
        let given = given.as_object().into_iter().flatten();
        for (key, _) in given.filter(|(key, value)| defaults.get(key) != Some(*value)) {
            let engines = engines_of(key);
            ensure!(
                engines.is_empty() || engines.contains(&name),
                "--{} belongs to the engine {}",
                key.replace('_', "-"),
                titles(&engines)
            );
        }
        Ok(())
    }
}

static KEYS: LazyLock<Vec<(EngineName, BTreeSet<String>)>> = LazyLock::new(|| {
    EngineName::value_variants().iter().map(|engine| (*engine, engine.keys())).collect()
});

/// Returns the engines that have a key; empty if the key is not one of engines, or if all have it.
fn engines_of(key: &str) -> Vec<EngineName> {
    KEYS.iter().filter(|(_, keys)| keys.contains(key)).map(|(engine, _)| *engine).collect()
}

/// Lists engines for the help and errors.
fn titles(engines: &[EngineName]) -> String {
    let title = |engine: &EngineName| match engine {
        EngineName::Torch => "torch, a plug-in".to_owned(),
        engine => engine.to_string(),
    };
    engines.iter().map(title).collect::<Vec<_>>().join(", ")
}

/// Adds the engines that have an option to its heading in the help.
fn with_engines(option: Arg) -> Arg {
    let engines = engines_of(option.get_id().as_str());
    match option.get_help_heading().map(ToOwned::to_owned) {
        Some(heading) if !engines.is_empty() => {
            option.help_heading(format!("{heading} (engines: {})", titles(&engines)))
        }
        _ => option,
    }
}

impl EngineName {
    /// Returns the short help of `--engine`, with a line for each engine. clap itself describes
    /// values in the long help only.
    fn short_help() -> String {
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

/// Parser of `--engine`. Help and completions list the names.
#[derive(Debug, Clone, Copy)]
struct EngineParser;

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
pub(crate) fn with_plugin(
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
    fn keys_that_engines_share_are_keys() {
        let command = EngineArgs::augment_args(Command::new(""));
        let all: BTreeSet<_> = command.get_arguments().map(|key| key.get_id().as_str()).collect();
        for (engine, keys) in &*KEYS {
            assert!(keys.iter().all(|key| all.contains(key.as_str())), "{engine}: {keys:?}");
        }
        let heading = |id: &str| {
            let mut options = command.get_arguments();
            options.find(|option| option.get_id() == id).unwrap().get_help_heading().unwrap()
        };
        assert_eq!(
            heading("scenario"),
            "Batching of a manifest (engines: torch, a plug-in, python)"
        );
        assert_eq!(heading("max_batch"), "Batching");
    }

    #[test]
    fn a_number_of_any_size_is_compared_with_its_engines() {
        let most = u64::MAX.to_string();
        let check = |option: &str| {
            let command = EngineArgs::augment_args(Command::new("").no_binary_name(true));
            let matches = command.try_get_matches_from([option, &most]).unwrap();
            let args = <EngineArgs as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
            args.check_keys(EngineName::Echo)
        };
        assert!(check("--max-batch").is_ok());
        let refused = check("--max-batch-tokens").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--max-batch-tokens belongs to the engine torch, a plug-in"
        );
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
