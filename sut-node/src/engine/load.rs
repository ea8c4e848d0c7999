//! The configured engine.

use std::sync::Arc;

use crate::{
    engine::{
        echo::Echo,
        error::EngineError,
        interface::Engine,
        one_by_one::OneByOne,
        onnx::{Onnx, OnnxModel},
        plugin,
    },
    model::identity::Model,
    settings::{config::Config, engine::EngineConfig},
};

/// Makes the configured engine's instances. They share the model's weights.
pub fn load(config: &Config) -> Result<(Model, Vec<Box<dyn Engine>>), EngineError> {
    match &config.engine {
        // Streams answer themselves.
        EngineConfig::None => Ok((Model::any_bytes("none"), Vec::new())),
        EngineConfig::Echo(settings) => {
            let engine = || OneByOne::boxed(Echo::new(settings.clone()));
            Ok((Model::any_bytes("echo"), (0..config.instances).map(|_| engine()).collect()))
        }
        EngineConfig::Onnx(settings) => {
            let model = Arc::new(OnnxModel::load(settings)?);
            let engine = |_| OneByOne::boxed(Onnx::new(model.clone(), settings));
            Ok((model.describe(), (0..config.instances).map(engine).collect()))
        }
        EngineConfig::Plugin(settings) => plugin::load::load(settings, config),
    }
}
