//! Readers of untrusted bytes, for fuzz targets.

use std::path::Path;

use bytes::Bytes;

use crate::{
    engine::{Dialect, read_answer, read_stream},
    model::{
        decoupled::DecoupledModel,
        language::LanguageModel,
        manifest::{Manifest, ModelFile},
        served_model::ServedModel,
        workloads::dry_run::DryRun,
    },
};

/// Token ids that were read from an output, and the outcome: an error states why the output is
/// invalid.
pub type ParsedOutput = (Vec<i32>, Result<(), String>);

/// Workload that a manifest describes: the processing of samples before and after a model, here a
/// model whose outputs are zeros.
#[derive(Debug)]
pub struct FuzzedWorkload(DryRun);

impl FuzzedWorkload {
    /// Reads a manifest; `None` if it is invalid.
    pub fn read(manifest: &Path) -> Option<Self> {
        let file = ModelFile::read(manifest).ok()?;
        Some(Self(DryRun::new(Manifest::of(&file).ok()?).ok()?))
    }

    /// Runs the samples as one batch. Skips the samples that do not fit the model's layout, and
    /// returns the response to each other sample, or the reason why it failed.
    pub fn answers(&self, samples: &[Bytes]) -> Vec<Result<Bytes, String>> {
        self.0.answers(samples, |_, _, _| ())
    }
}

/// Reads a file as the manifest of a language model, and as the file of a served model.
pub fn read_language_model(path: &Path) {
    let Ok(file) = ModelFile::read(path) else { return };
    let _ = LanguageModel::of(&file);
    let _ = ServedModel::of(&file);
}

/// Reads a serving engine's response to a prompt of four tokens. `pieces` are the parts of its
/// body, as they arrive. `dialect` selects the serving engine; any number is valid. Valid token ids
/// are below 2,048.
pub fn read_events(dialect: usize, pieces: impl Iterator<Item = Bytes>) -> ParsedOutput {
    const DIALECTS: [Dialect; 4] =
        [Dialect::Vllm, Dialect::Sglang, Dialect::Trtllm, Dialect::Llamacpp];
    read_answer(DIALECTS[dialect % DIALECTS.len()], &served("tiny", 2048), 4, pieces)
}

/// Reads the messages of a stream from Triton. The length of each message precedes it. Valid token
/// ids are below 32,000.
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
        sampled: false,
        speculative_decoding: None,
        eos: vec![2],
    }
}
