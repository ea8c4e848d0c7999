//! `loadgen-node model`: the file of a language model, from its checkpoint.

use std::path::{Path, PathBuf};

use netdiv_rules::book::TokenLimits;

use crate::{
    RunError,
    checkpoint::{Checkpoint, sha256_of_files},
    output::{self, say},
    settings::{TableArgs, usage},
};

/// Lines of the file for a benchmark that samples outputs.
const SAMPLED: &str = "# Tokens are drawn at random, as the benchmark requires.\nsampled = true\n";

/// Options of `loadgen-node model`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Folder of the checkpoint, with config.json, as it is downloaded from Hugging Face
    folder: PathBuf,
    /// Name of the benchmark, whose limits of prompts and outputs apply
    #[arg(long)]
    benchmark: String,
    /// Name by which the serving engine knows the model [default: the folder's name]
    #[arg(long)]
    name: Option<String>,
    /// Ids that end an output [default: eos_token_id in generation_config.json or config.json]
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    eos: Option<Vec<u64>>,
    /// Number of token ids [default: vocab_size in config.json]
    #[arg(long, value_name = "N")]
    vocabulary: Option<u64>,
    /// SHA-256 of the weights, in hex [default: that of the files, in the order of their names]
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,
    /// File to write; it must not exist [default: BENCHMARK.toml]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
}

impl ModelArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let path = self.output.clone().unwrap_or_else(|| format!("{}.toml", self.benchmark).into());
        if path.symlink_metadata().is_ok() {
            return usage(format!("--output {}: it exists already", path.display()));
        }
        let (limits, is_sampled) = self.outputs()?;
        let checkpoint = Checkpoint::read(&self.folder)?;
        let vocabulary = self.vocabulary.map_or_else(|| checkpoint.vocabulary(), Ok)?;
        let eos = self.eos.clone().map_or_else(|| checkpoint.end_tokens(), Ok)?;
        if let Some(id) = eos.iter().find(|id| **id >= vocabulary) {
            return usage(format!(
                "the end-of-text id {id} is beyond the vocabulary of {vocabulary}; give --eos or --vocabulary"
            ));
        }
        let name = self.name.clone().map_or_else(|| folder_name(&self.folder), Ok)?;
        let (sha256, origin) = self.sha256_of(&checkpoint)?;
        let text = format!(
            "# Model's file for sut-node --model, made by `loadgen-node model` for {benchmark}.\n\n\
             # Name by which the serving engine knows the model; vLLM: --served-model-name.\n\
             name = {name}\n\
             # SHA-256 of the weights{origin}.\n\
             sha256 = \"{sha256}\"\n\
             # Number of token ids.\n\
             vocabulary = {vocabulary}\n\
             # Limits of the benchmark, in tokens: prompts, and the outputs' maximum and minimum.\n\
             max_input_tokens = {prompt}\n\
             max_tokens = {most}\n\
             min_tokens = {least}\n\
             # Ids that end an output and are part of it.\n\
             eos = {eos:?}\n{sampled}",
            benchmark = self.benchmark,
            name = toml::Value::from(name),
            prompt = limits.prompt,
            most = limits.output_max,
            least = limits.output_min,
            sampled = if is_sampled { SAMPLED } else { "" },
        );
        output::write(&path, text.as_bytes())?;
        say(format_args!("wrote {}", path.display()))?;
        for note in notes(&limits, vocabulary, checkpoint.context_tokens()) {
            say(format_args!("note: {note}"))?;
        }
        Ok(0)
    }

    /// Returns the benchmark's limits of prompts and outputs, and true if it samples outputs.
    fn outputs(&self) -> Result<(TokenLimits, bool), RunError> {
        let table = self.table.read()?;
        let benchmark = table.known(&self.benchmark).map_err(RunError::Usage)?;
        let Some(limits) = benchmark.tokens() else {
            return usage(format!(
                "--benchmark {}: its outputs are not tokens; `loadgen-node benchmarks` lists all",
                self.benchmark
            ));
        };
        Ok((limits, benchmark.sampled))
    }

    /// Returns the SHA-256 of the weights, and its origin as a part of a comment.
    fn sha256_of(&self, checkpoint: &Checkpoint) -> Result<(String, String), RunError> {
        if let Some(stated) = &self.sha256 {
            if stated.len() != 64 || !stated.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return usage("--sha256: write 64 digits of 0-9 and a-f");
            }
            return Ok((stated.to_lowercase(), String::new()));
        }
        let files = checkpoint.weights()?;
        let sha256 = sha256_of_files(&files)?;
        let names: Vec<_> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        let origin = match names.as_slice() {
            [] | [_] => format!(": {}", names.join("")),
            [first, .., last] => {
                format!(": {} files, {first} to {last}, one after the other", names.len())
            }
        };
        Ok((sha256, origin))
    }
}

/// Returns the name of the folder, also for `.`.
fn folder_name(folder: &Path) -> Result<String, RunError> {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    match whole.file_name().and_then(|name| name.to_str()) {
        Some(name) => Ok(name.to_owned()),
        None => usage("the folder has no name to take for the model; give --name NAME"),
    }
}

/// Returns remarks on a model that differs from the benchmark's.
fn notes(limits: &TokenLimits, vocabulary: u64, context: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    if vocabulary != u64::from(limits.vocabulary) {
        notes.push(format!(
            "the benchmark's model has a vocabulary of {}, this one of {vocabulary}: a submission needs the benchmark's model",
            limits.vocabulary
        ));
    }
    let needed = limits.prompt + limits.output_max;
    if let Some(context) = context.filter(|context| *context < needed) {
        notes.push(format!(
            "the model has room for {context} tokens of a prompt and its output, but the benchmark's longest have {needed}: outputs \
             may be cut off"
        ));
    }
    notes
}
