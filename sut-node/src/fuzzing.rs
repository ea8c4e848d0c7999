//! Readers of untrusted bytes, for fuzz targets.

use std::path::Path;

use bytes::Bytes;

use crate::{
    engine::{read_answer, read_stream},
    model::{
        decoupled::DecoupledModel, language::LanguageModel, manifest::Manifest,
        served_model::ServedModel, workloads::dry_run::DryRun,
    },
    settings::serving_engines::Dialect,
};

/// Token ids of an output, and its outcome.
pub type ParsedOutput = (Vec<i32>, Result<(), String>);

/// Workload of a manifest, with a model whose outputs are zeros.
#[derive(Debug)]
pub struct FuzzedWorkload(DryRun);

impl FuzzedWorkload {
    /// Reads a manifest; `None` if it describes no workload.
    pub fn read(manifest: &Path) -> Option<Self> {
        Some(Self(DryRun::new(Manifest::read(manifest).ok()?).ok()?))
    }

    /// Runs a batch. Returns a response, or its failure, for each sample that fits the layout.
    pub fn answers(&self, samples: &[Bytes]) -> Vec<Result<Bytes, String>> {
        self.0.answers(samples)
    }
}

/// Reads a file as the manifest of a language model, and as the file of a served model.
pub fn read_language_model(path: &Path) {
    let _ = LanguageModel::read(path);
    let _ = ServedModel::read(path);
}

/// Reads the body of a serving engine's response to a prompt of four tokens, in pieces. Any number
/// selects one of the dialects. Ids are below 2,048.
pub fn read_events(dialect: usize, pieces: impl Iterator<Item = Bytes>) -> ParsedOutput {
    const DIALECTS: [Dialect; 4] =
        [Dialect::Vllm, Dialect::Sglang, Dialect::Trtllm, Dialect::Llamacpp];
    read_answer(DIALECTS[dialect % DIALECTS.len()], &served("tiny", 2048), 4, pieces)
}

/// Reads messages of Triton's stream, each after its length; ids are below 32,000.
pub fn read_messages(messages: &[u8]) -> ParsedOutput {
    let (output, inputs) = ("output_ids".into(), Default::default());
    let model = DecoupledModel { served: served("tokens", 32_000), output, inputs };
    read_stream(&model, "s", messages)
}

/// Returns a model whose outputs have at most four tokens. Id 2 ends an output.
fn served(name: &str, vocabulary: u32) -> ServedModel {
    ServedModel {
        name: name.into(),
        sha256: String::new(),
        vocabulary,
        max_input_tokens: 512,
        max_tokens: 4,
        min_tokens: 1,
        speculative_decoding: None,
        eos: vec![2],
    }
}
