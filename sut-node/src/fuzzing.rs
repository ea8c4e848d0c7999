//! Readers of untrusted bytes, for fuzz targets.

use std::path::Path;

use bytes::Bytes;

use crate::{
    engine::{read_answer, read_stream},
    model::{
        decoupled::DecoupledModel, language::LanguageModel, manifest::Manifest,
        served::ServedModel, workloads::dry_run::DryRun,
    },
    settings::served::Dialect,
};

/// Token ids of an output, and how it ended.
pub type Output = (Vec<i32>, Result<(), String>);

/// A manifest's workload, with a model whose outputs are zeros.
#[derive(Debug)]
pub struct Workload(DryRun);

impl Workload {
    /// Reads a manifest; `None` where it describes no workload.
    pub fn read(manifest: &Path) -> Option<Self> {
        Some(Self(DryRun::new(Manifest::read(manifest).ok()?).ok()?))
    }

    /// Runs a batch, and returns one answer, or its failure, for each sample that fits the layout.
    pub fn answers(&self, samples: &[Bytes]) -> Vec<Result<Bytes, String>> {
        self.0.answers(samples)
    }
}

/// Reads a file as the manifest of a language model, and as the file of a served model.
pub fn read_language_model(path: &Path) {
    let _ = LanguageModel::read(path);
    let _ = ServedModel::read(path);
}

/// Reads the body of a serving engine's answer to a prompt of four tokens, in pieces. `dialect` chooses one of the dialects,
/// whatever the number; ids are below 2,048.
pub fn read_events(dialect: usize, pieces: impl Iterator<Item = Bytes>) -> Output {
    const DIALECTS: [Dialect; 4] =
        [Dialect::Vllm, Dialect::Sglang, Dialect::Trtllm, Dialect::Llamacpp];
    read_answer(DIALECTS[dialect % DIALECTS.len()], &served("tiny", 2048), 4, pieces)
}

/// Reads messages of Triton's stream, each after its length; ids are below 32,000.
pub fn read_messages(messages: &[u8]) -> Output {
    let (output, inputs) = ("output_ids".into(), Default::default());
    let model = DecoupledModel { served: served("tokens", 32_000), output, inputs };
    read_stream(&model, "s", messages)
}

/// A model with outputs of at most four tokens, which 2 ends.
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
