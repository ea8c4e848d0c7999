//! Checkpoint of a language model, in the layout of Hugging Face: the facts that a model's file
//! needs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use netdiv_node_common::resources::files;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{RunError, settings::usage};

/// Maximum length of a file in JSON. Tokenizers are the longest.
const MAX_JSON_BYTES: u64 = 256 << 20;

/// Endings of files with weights, the preferred ones first.
const WEIGHTS: [&str; 3] = ["safetensors", "gguf", "bin"];

pub(crate) struct Checkpoint {
    folder: PathBuf,
    config: Value,
    generation: Value,
    tokenizer: Value,
}

impl Checkpoint {
    /// Reads `config.json`, and `generation_config.json` and `tokenizer.json` if they exist.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join("config.json");
        let Some(config) = json(&path)? else {
            return usage(format!(
                "{}: no such file; give the folder of a checkpoint, as it is downloaded from Hugging Face",
                path.display()
            ));
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            // Models of several modalities have a table for the language model.
            config: config.get("text_config").cloned().unwrap_or(config),
            generation: json(&folder.join("generation_config.json"))?.unwrap_or_default(),
            tokenizer: json(&folder.join("tokenizer.json"))?.unwrap_or_default(),
        })
    }

    /// Returns the number of token ids. Fails if the tokenizer has an id beyond it.
    pub(crate) fn vocabulary(&self) -> Result<u64, RunError> {
        let Some(size) = self.config["vocab_size"].as_u64() else {
            return usage(self.lacks("config.json has no vocab_size; give --vocabulary N"));
        };
        match self.tokenizer_ids().max() {
            Some(largest) if largest >= size => usage(self.lacks(&format!(
                "tokenizer.json has the id {largest}, but vocab_size in config.json is {size}; give --vocabulary N"
            ))),
            _ => Ok(size),
        }
    }

    /// Returns the ids that end an output.
    pub(crate) fn end_tokens(&self) -> Result<Vec<u64>, RunError> {
        let stated = [&self.generation, &self.config].into_iter();
        let mut stated = stated.map(|file| ids(&file["eos_token_id"]));
        match stated.find(|ids| !ids.is_empty()) {
            Some(ids) => Ok(ids),
            None => usage(self.lacks(
                "neither generation_config.json nor config.json has an eos_token_id; give --eos IDS",
            )),
        }
    }

    /// Returns the maximum number of tokens of a prompt and its output together, if the checkpoint
    /// states it.
    pub(crate) fn context_tokens(&self) -> Option<u64> {
        self.config["max_position_embeddings"].as_u64()
    }

    /// Returns the files with the weights, in the order of their names.
    pub(crate) fn weights(&self) -> Result<Vec<PathBuf>, RunError> {
        let failed = |error: io::Error| RunError::Usage(self.lacks(&error.to_string()));
        let entries = fs::read_dir(&self.folder).map_err(failed)?;
        let mut paths = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed)?;
        paths.sort();
        let of_kind = |kind: &str| {
            let is_it = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == kind);
            paths.iter().filter(is_it).cloned().collect::<Vec<_>>()
        };
        match WEIGHTS.map(of_kind).into_iter().find(|paths| !paths.is_empty()) {
            Some(paths) => Ok(paths),
            None => usage(self.lacks(
                "no weights: no file ends in .safetensors, .gguf or .bin; give --sha256 HEX, the SHA-256 of the weights",
            )),
        }
    }

    fn tokenizer_ids(&self) -> impl Iterator<Item = u64> {
        let added = self.tokenizer["added_tokens"].as_array().into_iter().flatten();
        let vocabulary = &self.tokenizer["model"]["vocab"];
        let named = vocabulary.as_object().into_iter().flat_map(|words| words.values());
        let listed = vocabulary.as_array().map(|words| words.len() as u64);
        added
            .filter_map(|token| token["id"].as_u64())
            .chain(named.filter_map(Value::as_u64))
            .chain(listed.and_then(|words| words.checked_sub(1)))
    }

    fn lacks(&self, what: &str) -> String {
        format!("{}: {what}", self.folder.display())
    }
}

/// Returns the SHA-256 of files, one after the other, in hex.
pub(crate) fn sha256_of_files(paths: &[PathBuf]) -> Result<String, RunError> {
    let mut hash = Sha256::new();
    for path in paths {
        let failed = |error: io::Error| RunError::Usage(format!("{}: {error}", path.display()));
        let mut file = files::open(path).map_err(failed)?;
        io::copy(&mut file, &mut hash).map_err(failed)?;
    }
    Ok(hex::encode(hash.finalize()))
}

/// Reads a file in JSON. Returns `None` if there is no such file.
fn json(path: &Path) -> Result<Option<Value>, RunError> {
    let failed = |why: String| RunError::Usage(format!("{}: {why}", path.display()));
    let bytes = match files::read(path, MAX_JSON_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(format!("not JSON: {error}")))
}

/// Returns the ids of a value that is one id or a list of ids.
fn ids(value: &Value) -> Vec<u64> {
    match value {
        Value::Array(ids) => ids.iter().filter_map(Value::as_u64).collect(),
        one => one.as_u64().into_iter().collect(),
    }
}
