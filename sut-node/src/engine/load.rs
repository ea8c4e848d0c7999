//! Checks and loads the configured engine.

use std::sync::Arc;

use netdiv_node_common::resources::files;

use crate::{
    engine::{
        decoder::{Decoder, DecoderModel},
        echo::Echo,
        interface::EngineKind,
        kserve,
        onnx::{Onnx, OnnxModel},
        plugin, python,
        sequential::SequentialEngine,
        served,
        tokens::{self, TokensEngine},
        workload::workload,
    },
    ground::error::EngineError,
    model::identity::Model,
    settings::{config::Config, engine::EngineConfig, kserve::KserveModel},
};

/// Fails for invalid files and settings, as far as this can be detected without loading the model
/// or asking a server.
pub(crate) fn check(config: &Config) -> Result<(), EngineError> {
    let model = match &config.engine {
        EngineConfig::Onnx(settings) => settings.model.as_deref(),
        EngineConfig::Decoder(settings) => settings.file.as_deref(),
        EngineConfig::Plugin(settings) => {
            plugin::open::check(&settings.file)?;
            plugin::load::workload_of(settings, config)?;
            Some(settings.manifest.model.as_path())
        }
        EngineConfig::TokenPlugin(settings) => {
            plugin::open::check(&settings.file)?;
            Some(settings.model.file.as_path())
        }
        EngineConfig::Kserve(settings) => match &settings.model {
            KserveModel::Tensors(manifest) => {
                workload(manifest, config.instances)?;
                Some(manifest.model.as_path())
            }
            KserveModel::Tokens(_) => None,
        },
        EngineConfig::None
        | EngineConfig::Echo(_)
        | EngineConfig::Tokens(_)
        | EngineConfig::Python(_)
        | EngineConfig::Served(_) => None,
    };
    let Some(path) = model else { return Ok(()) };
    files::check(path, u64::MAX)
        .map_err(|error| EngineError::Unreadable { path: path.display().to_string(), error })
}

/// Creates the instances of the configured engine, which share the model's weights. Returns the
/// description of the model, and the instances. The caller is within a runtime.
pub(crate) fn load(config: &Config) -> Result<(Model, Vec<EngineKind>), EngineError> {
    match &config.engine {
        // The clients' streams answer their samples themselves (`none.rs`).
        EngineConfig::None => Ok((Model::any_bytes("none"), Vec::new())),
        EngineConfig::Echo(settings) => {
            let engine =
                || EngineKind::Batched(SequentialEngine::boxed(Echo::new(settings.clone())));
            let answer_bytes = settings.answer_bytes as u64;
            let model = Model { answer_bytes, ..Model::any_bytes("echo") };
            Ok((model, (0..config.instances).map(|_| engine()).collect()))
        }
        EngineConfig::Onnx(settings) => {
            let model = Arc::new(OnnxModel::load(settings)?);
            let engine = |_| {
                EngineKind::Batched(SequentialEngine::boxed(Onnx::new(model.clone(), settings)))
            };
            Ok((model.describe(), (0..config.instances).map(engine).collect()))
        }
        EngineConfig::Decoder(settings) => {
            let model = Arc::new(DecoderModel::load(settings)?);
            let engine = |_| EngineKind::Streaming(Box::new(Decoder::new(model.clone(), settings)));
            Ok((model.describe(), (0..config.instances).map(engine).collect()))
        }
        EngineConfig::Tokens(settings) => {
            let settings = Arc::new(settings.clone());
            let slots = config.batching.max_batch;
            let engine = |_| EngineKind::waiting(TokensEngine::new(settings.clone(), slots));
            let engines = (0..config.instances).map(engine).collect::<Result<_, EngineError>>()?;
            Ok((tokens::model(&settings), engines))
        }
        EngineConfig::Served(settings) => served::load::load(settings, config),
        EngineConfig::Kserve(settings) => kserve::load::load(settings, config),
        EngineConfig::Python(settings) => python::load::load(settings, config),
        EngineConfig::Plugin(settings) => {
            let (model, engines) = plugin::load::load(settings, config)?;
            Ok((model, engines.into_iter().map(EngineKind::Batched).collect()))
        }
        EngineConfig::TokenPlugin(settings) => {
            let (model, engines) = plugin::load_tokens::load_tokens(settings, config)?;
            Ok((model, engines.into_iter().map(EngineKind::Streaming).collect()))
        }
    }
}
