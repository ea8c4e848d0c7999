//! Settings of the engine `openai`, which sends prompts to serving engines over HTTP.

use anyhow::ensure;
use clap::ValueEnum;
use netdiv_node_common::process::TimeSpan;
use serde::Serialize;

use crate::{
    engine::{
        remote::server_settings::{SERVED_BATCHING, SERVER_KEYS, ServersConfig, served_model_file},
        shared_args::Given,
    },
    model::{manifest::ModelFile, sampling_seed::SamplingSeed, served_model::ServedModel},
};

/// Keys of the engine `openai`.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Serving engines over HTTP")]
pub struct OpenaiArgs {
    /// Serving engine at --url
    #[arg(long, value_name = "ENGINE", default_value = "vllm")]
    pub openai_dialect: Dialect,
}

/// Serving engine, whose requests and responses have their own form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// vLLM, `/v1/completions`
    Vllm,
    /// SGLang, `/generate`
    Sglang,
    /// TensorRT-LLM's trtllm-serve, `/v1/completions`
    Trtllm,
    /// llama.cpp's llama-server, `/completion`
    Llamacpp,
}

/// Settings of the engine `openai`, which sends prompts to serving engines over HTTP.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename = "openai")]
pub struct ServedConfig {
    /// Program that serves at these addresses. It determines the form of requests and responses.
    pub dialect: Dialect,
    /// Addresses of the serving engines, with the credentials for them.
    #[serde(flatten)]
    pub servers: ServersConfig,
    /// Model that the serving engines serve.
    pub model: ServedModel,
    /// Number from which the seed of each sample is derived; `None`: the servers choose seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_seed: Option<SamplingSeed>,
}

impl ServedConfig {
    pub(in crate::engine) const KEYS: &[&str] = &{
        let [a, b, c, d, e, f] = SERVER_KEYS;
        [a, b, c, d, e, f, "sampling_seed"]
    };

    /// Checks the settings and fills in the defaults. Reads the description of the model, the token
    /// and the certificates.
    pub(in crate::engine) fn resolve(
        keys: &OpenaiArgs,
        given: &mut Given<'_>,
    ) -> anyhow::Result<Self> {
        let dialect = keys.openai_dialect;
        let start_timeout = given.start_timeout(TimeSpan::ZERO)?;
        let servers = given.shared.servers.resolve(start_timeout, true)?;
        let model = served_model_file(given.shared.model.as_deref())?;
        let model = ServedModel::of(&ModelFile::read(model)?)?;
        ensure!(
            dialect != Dialect::Llamacpp || model.min_tokens <= 1,
            "min_tokens = {}: llama.cpp does not support a minimum number of output tokens; remove the key, or use another engine",
            model.min_tokens
        );
        given.default_batching = SERVED_BATCHING;
        given.longest_output = Some(model.max_tokens);
        let sampling_seed = SamplingSeed::of(given.shared.sampling_seed, &model)?;
        Ok(Self { dialect, servers, model, sampling_seed })
    }
}
