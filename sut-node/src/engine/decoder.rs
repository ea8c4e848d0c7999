//! Engine that runs language models in ONNX format on the CPU, with the runtime rten. The models
//! have a cache of keys and values. Decoding is greedy: it always chooses the likeliest token.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
};

use netdiv_node_common::{process::TimeSpan, resources::companion::expected};
use rten::{Dimension, RunOptions, ThreadPool};
use rten_generate::{Generator, Logits, filter};
use serde::Serialize;

use crate::{
    engine::{
        interface::{EngineKind, StreamingEngine},
        onnx_file::{OnnxFile, RTEN},
        settings::{EngineSettings, NodeSettings, check_model_file},
        shared_args::Given,
        sink::Sink,
    },
    ground::error::EngineError,
    model::{
        identity::Model, manifest::ModelFile, payload::Payload, served_model::ServedModel,
        workload::integers,
    },
};

/// Language model of the demo, which `deploy/sorting/train.py` writes.
const SORTING: &[u8] = include_bytes!("../../../deploy/sorting/sorting.onnx");

/// Description of the demo's language model.
const SORTING_DESCRIPTION: &str = include_str!("../../../deploy/sorting/sorting.toml");

/// Settings of the engine `decoder`, which runs a language model in ONNX format.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename = "decoder")]
pub struct DecoderConfig {
    /// Path of the model in ONNX format; `None`: the embedded model.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Number of threads of an instance.
    pub threads: usize,
    /// Name and token limits of the model, from its description.
    pub model: ServedModel,
}

impl DecoderConfig {
    pub(super) const KEYS: &[&str] = &["model", "threads"];

    pub(super) fn resolve(given: &mut Given<'_>) -> anyhow::Result<Self> {
        let config = Self::new(given.model_or(netdiv_dataset::SORTING)?, given.threads()?)?;
        given.default_batching = (1, TimeSpan::ZERO);
        given.longest_output = Some(config.model.max_tokens);
        Ok(config)
    }

    /// Reads the description of the model. The model itself is beside that file, with the same name
    /// and the ending `.onnx`. `None`: the model of the demo.
    fn new(description: Option<&Path>, threads: usize) -> anyhow::Result<Self> {
        let Some(path) = description else {
            let file = ModelFile::new("sorting.toml (embedded)".as_ref(), SORTING_DESCRIPTION);
            return Ok(Self { file: None, model: ServedModel::of(&file)?, threads });
        };
        let file = expected(path, |path| path.with_extension("onnx"))
            .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        let model = ServedModel::of(&ModelFile::read(path)?)?;
        Ok(Self { file: Some(file), model, threads })
    }
}

impl EngineSettings for DecoderConfig {
    fn check(&self, _: &NodeSettings) -> Result<(), EngineError> {
        self.file.as_deref().map_or(Ok(()), check_model_file)
    }

    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        let model = Arc::new(DecoderModel::load(self)?);
        let engine = |_| EngineKind::Streaming(Box::new(Decoder::new(model.clone(), self)));
        Ok((model.describe(), (0..node.instances).map(engine).collect()))
    }
}

/// A loaded model, shared by all instances.
struct DecoderModel {
    file: OnnxFile,
    served: ServedModel,
}

impl DecoderModel {
    fn load(settings: &DecoderConfig) -> Result<Self, EngineError> {
        let file = match &settings.file {
            None => OnnxFile::embedded("sorting.onnx", SORTING)?,
            Some(path) => OnnxFile::read(path)?,
        };
        let model = Self { served: settings.model.clone(), file };
        match model.fault() {
            None => Ok(model),
            Some(why) => Err(model.file.unsupported(why)),
        }
    }

    /// Returns the reason why the file is not a decoder, or does not match its description.
    fn fault(&self) -> Option<String> {
        let Self { file, served } = self;
        let generator = match Generator::from_model(&file.model) {
            Ok(generator) => generator,
            Err(error) => return Some(error.to_string()),
        };
        if generator.kv_cache_len().is_none() {
            return Some("it has no cache: no inputs past_key_values.N.key and .value".into());
        }
        if let Some(why) = served.weights_mismatch(&file.sha256, "description") {
            return Some(why);
        }
        let logits = file.model.find_node("logits").and_then(|id| file.model.node_info(id));
        match logits.and_then(|info| info.shape()?.last().cloned()) {
            Some(Dimension::Fixed(width)) if width < served.vocabulary as usize => Some(format!(
                "it has logits for {width} ids, but its description states a vocabulary of {}",
                served.vocabulary
            )),
            _ => None,
        }
    }

    fn describe(&self) -> Model {
        Model {
            framework: RTEN.into(),
            sha256: self.file.sha256.clone(),
            ..Model::of_language("decoder", &self.served)
        }
    }
}

/// An instance, which decodes one sequence at a time.
struct Decoder {
    model: Arc<DecoderModel>,
    threads: Arc<ThreadPool>,
    waiting: VecDeque<(Payload, Sink)>,
}

impl Decoder {
    fn new(model: Arc<DecoderModel>, settings: &DecoderConfig) -> Self {
        let threads = Arc::new(ThreadPool::with_num_threads(settings.threads));
        Self { model, threads, waiting: VecDeque::new() }
    }

    /// Generates an output, and passes each token to `is_wanted`. Stops at the end of the output,
    /// or once `is_wanted` returns false.
    fn generate(
        &self,
        prompt: &[u32],
        mut is_wanted: impl FnMut(u32) -> bool,
    ) -> Result<(), EngineError> {
        let failed = |why: String| EngineError::Failed(why);
        let DecoderModel { file, served } = &*self.model;
        let options = RunOptions::default().with_thread_pool(Some(self.threads.clone()));
        let mut generator = Generator::from_model(&file.model)
            .map_err(|error| failed(error.to_string()))?
            .with_prompt(prompt)
            .with_run_options(Some(options));
        if served.min_tokens > 1 {
            let least = prompt.len() + served.min_tokens as usize - 1;
            generator = generator.with_logits_filter(MinimumLength { least, eos: &served.eos });
        }
        for id in generator.take(served.max_tokens as usize) {
            let id = id.map_err(|error| failed(error.to_string()))?;
            if id >= served.vocabulary {
                let most = served.vocabulary - 1;
                return Err(failed(format!("invalid token id {id}; ids go from 0 to {most}")));
            }
            if !is_wanted(id) || served.eos.contains(&id) {
                break;
            }
        }
        Ok(())
    }
}

/// Prevents an output from ending before its minimum length.
struct MinimumLength<'a> {
    /// Minimum number of tokens of prompt and output together before the output may end.
    least: usize,
    eos: &'a [u32],
}

impl filter::LogitsFilter for MinimumLength<'_> {
    fn filter(&self, logits: Logits, so_far: &[u32]) -> Logits {
        if so_far.len() >= self.least {
            return logits;
        }
        filter::token_id_filter(|id| !self.eos.contains(&id)).filter(logits, so_far)
    }
}

impl StreamingEngine for Decoder {
    fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    fn room(&self) -> usize {
        1_usize.saturating_sub(self.waiting.len())
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        self.waiting.extend(samples);
        Ok(())
    }

    /// Computes a whole output, because rten's generators must stay on the stack.
    fn step(&mut self) -> Result<(), EngineError> {
        let Some((prompt, mut sink)) = self.waiting.pop_front() else { return Ok(()) };
        let ids = prompt.tensors().first().map(|prompt| integers(prompt).map(|id| id as u32));
        let ids: Vec<_> = ids.into_iter().flatten().collect();
        let outcome = self.generate(&ids, |id| {
            sink.push_tokens(&[id as i32]);
            !sink.is_closed()
        });
        match outcome {
            Ok(()) => sink.end(),
            Err(error) => sink.finish_with(Err(error)),
        }
        Ok(())
    }

    fn drop_all(&mut self) {
        self.waiting.clear();
    }

    /// Generates two tokens: the first run packs the weights, the second one reads the cache.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        let mut more = 2;
        let outcome = self.generate(&[0], |_| {
            more -= 1;
            more > 0
        });
        outcome.map_err(|error| self.model.file.unsupported(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::token_limits::TokenLimits;

    /// Prompts and the model's outputs, which `deploy/sorting/train.py` computed without a cache.
    const GREEDY: &str = include_str!("../../../deploy/sorting/greedy.txt");

    fn settings(edit: impl FnOnce(&mut ServedModel)) -> DecoderConfig {
        let mut settings = DecoderConfig::new(None, 1).unwrap();
        edit(&mut settings.model);
        settings
    }

    fn engine(settings: &DecoderConfig) -> Decoder {
        Decoder::new(Arc::new(DecoderModel::load(settings).unwrap()), settings)
    }

    fn output(engine: &Decoder, prompt: &[u32]) -> Vec<u32> {
        let mut ids = Vec::new();
        let outcome = engine.generate(prompt, |id| {
            ids.push(id);
            true
        });
        outcome.unwrap();
        ids
    }

    #[test]
    fn the_embedded_model_says_what_it_takes() {
        let model = DecoderModel::load(&settings(|_| ())).unwrap().describe();
        assert_eq!((model.engine.as_str(), model.name.as_str()), ("decoder", "sorting"));
        assert_eq!((model.framework.as_str(), model.sha256.len()), (RTEN, 64));
        assert_eq!(
            model.tokens,
            Some(TokenLimits { vocabulary: 16, max_input: 14, max_output: 13 })
        );
    }

    #[test]
    fn outputs_are_those_of_the_trained_model_whatever_came_before() {
        let mut engine = engine(&settings(|_| ()));
        engine.warm_up().unwrap();
        let ids = |text: &str| -> Vec<u32> {
            text.split_whitespace().map(|id| id.parse().unwrap()).collect()
        };
        let cases: Vec<_> = GREEDY
            .lines()
            .map(|line| line.split_once(" > ").unwrap())
            .map(|(prompt, wanted)| (ids(prompt), ids(wanted)))
            .collect();
        assert_eq!(cases.len(), 200);
        for (prompt, wanted) in cases {
            assert_eq!(output(&engine, &prompt), wanted, "{prompt:?}");
        }
    }

    #[test]
    fn an_output_ends_where_the_description_says() {
        let prompt = [10, 3, 1, 2, 11];
        assert_eq!(output(&engine(&settings(|_| ())), &prompt), [1, 2, 3, 12]);
        assert_eq!(output(&engine(&settings(|model| model.max_tokens = 2)), &prompt), [1, 2]);
        assert_eq!(output(&engine(&settings(|model| model.eos = vec![2])), &prompt), [1, 2]);
        let longer = output(&engine(&settings(|model| model.min_tokens = 6)), &prompt);
        assert_eq!((&longer[..3], longer.len() >= 6), (&[1, 2, 3][..], true));
        assert!(!longer[..5].contains(&12), "{longer:?}");
        let least = output(&engine(&settings(|model| model.min_tokens = 4)), &prompt);
        assert_eq!(least, [1, 2, 3, 12], "the id that ends it counts");
    }

    #[test]
    fn a_cancelled_output_goes_no_further() {
        let mut given = 0;
        let outcome = engine(&settings(|_| ())).generate(&[10, 3, 1, 2, 11], |_| {
            given += 1;
            given < 2
        });
        outcome.unwrap();
        assert_eq!(given, 2);
    }

    #[test]
    fn ids_beyond_the_vocabulary_and_places_that_the_model_lacks_are_failures() {
        let small = engine(&settings(|model| (model.vocabulary, model.eos) = (3, vec![])));
        let error = small.generate(&[10, 3, 1, 2, 11], |_| true).unwrap_err().to_string();
        assert!(error.contains("invalid token id 3; ids go from 0 to 2"), "{error}");
        let error = small.generate(&[0; 40], |_| true).unwrap_err().to_string();
        assert!(error.contains("failed to run model"), "{error}");
    }

    #[test]
    fn what_is_no_such_model_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |onnx: &[u8], edit: fn(&mut ServedModel)| {
            let path = folder.path().join("model.onnx");
            fs::write(&path, onnx).unwrap();
            let settings = DecoderConfig { file: Some(path), ..settings(edit) };
            let error = DecoderModel::load(&settings).err().unwrap().to_string();
            assert!(error.contains("model.onnx"), "{error}");
            error
        };
        let digits = include_bytes!("../../../deploy/digits/digits.onnx");
        for (onnx, edit, words) in [
            (&b"text"[..], (|_| ()) as fn(&mut ServedModel), "cannot be loaded as an ONNX model"),
            (digits, |_| (), "model input not found: input_ids"),
            (SORTING, |model| model.vocabulary = 17, "has logits for 16 ids"),
            (SORTING, |model| model.sha256 = "0".repeat(64), "its description states 0000"),
        ] {
            assert!(refused(onnx, edit).contains(words), "{words}");
        }
        let missing = DecoderConfig { file: Some("/nowhere.onnx".into()), ..settings(|_| ()) };
        let error = DecoderModel::load(&missing).err().unwrap().to_string();
        assert!(error.contains("cannot read the model /nowhere.onnx"), "{error}");
    }

    #[test]
    fn the_model_lies_beside_its_description() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        fs::write(&path, SORTING_DESCRIPTION.replace("sorting", "own")).unwrap();
        fs::write(folder.path().join("own.onnx"), SORTING).unwrap();
        let settings = DecoderConfig::new(Some(Path::new(&path)), 1).unwrap();
        let model = DecoderModel::load(&settings).unwrap();
        assert_eq!(model.describe().name, "own");
    }
}
