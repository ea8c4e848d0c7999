//! Settings of the engine `kserve`, which sends samples to serving engines over gRPC.

use std::{path::Path, sync::Arc};

use serde::Serialize;

use crate::{
    model::{decoupled::DecoupledModel, manifest::Manifest},
    settings::{error::ConfigError, serving_engines::ServersConfig},
};

/// Settings of the engine `kserve`, which sends samples to serving engines over gRPC.
#[derive(Debug, Clone, Serialize)]
pub struct KserveConfig {
    /// Addresses of the serving engines, with the credentials for them.
    #[serde(flatten)]
    pub servers: ServersConfig,
    /// Model that the serving engines serve.
    pub model: KserveModel,
}

/// Description of the served model.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum KserveModel {
    /// Model of tensors: the serving engine sends one response to each sample.
    Tensors(Arc<Manifest>),
    /// Language model: the serving engine sends the tokens of an output as it generates them.
    Tokens(Arc<DecoupledModel>),
}

impl KserveModel {
    /// Reads a model's file: the description of a language model if it has the key `vocabulary`,
    /// otherwise a manifest.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = netdiv_node_common::resources::files::read_text(path).unwrap_or_default();
        let table: toml::Table = toml::from_str(&text).unwrap_or_default();
        Ok(if table.contains_key("vocabulary") {
            Self::Tokens(Arc::new(DecoupledModel::read(path)?))
        } else {
            Self::Tensors(Arc::new(Manifest::read(path)?))
        })
    }
}
