//! The dialects: what is asked of a server, and how its answer is read.

use serde_json::Value;

use crate::{
    engine::served::{
        chunk::Chunk,
        openai::{completions, fault::fault, llamacpp, sglang},
    },
    model::served::ServedModel,
    settings::served::Dialect,
};

/// What a server understands.
pub(crate) struct Api {
    /// What the server is.
    pub(crate) product: &'static str,
    /// Where requests go.
    pub(super) path: &'static str,
    /// The key of the prompt's ids.
    prompt: &'static str,
    /// The rest of a request.
    request: fn(&ServedModel) -> Value,
    read: fn(&str) -> Result<Chunk, String>,
    /// How to turn prefix caching off.
    pub(crate) no_caching: &'static str,
    /// Where it says how it was started, if its answers do not say enough.
    pub(super) metrics: Option<&'static str>,
    /// Where it says how many tokens a prompt and its output may have together.
    pub(super) context: Option<Context>,
}

/// The place of a server's limit.
pub(super) struct Context {
    pub(super) path: &'static str,
    /// Its JSON pointer.
    pub(super) pointer: &'static str,
}

/// The model that is served comes first in its list.
const IN_MODELS: Context = Context { path: "/v1/models", pointer: "/data/0/max_model_len" };

/// What stands at the end of an answer, where an event does not say that it is the last one.
const DONE: &str = "[DONE]";

pub(crate) fn api(dialect: Dialect) -> &'static Api {
    match dialect {
        Dialect::Vllm => &Api {
            product: "vLLM",
            path: "/v1/completions",
            prompt: "prompt",
            request: completions::vllm,
            read: completions::read,
            no_caching: "--no-enable-prefix-caching",
            metrics: Some("/metrics"),
            context: Some(IN_MODELS),
        },
        Dialect::Sglang => &Api {
            product: "SGLang",
            path: "/generate",
            prompt: "input_ids",
            request: sglang::request,
            read: sglang::read,
            no_caching: "--disable-radix-cache",
            metrics: None,
            context: Some(IN_MODELS),
        },
        Dialect::Trtllm => &Api {
            product: "TensorRT-LLM",
            path: "/v1/completions",
            prompt: "prompt",
            request: completions::trtllm,
            read: completions::read,
            no_caching: "enable_block_reuse: false in kv_cache_config",
            metrics: None,
            context: None,
        },
        Dialect::Llamacpp => &Api {
            product: "llama.cpp",
            path: "/completion",
            prompt: "prompt",
            request: llamacpp::request,
            read: llamacpp::read,
            no_caching: "cache_prompt, which every request turns off",
            metrics: None,
            context: Some(Context {
                path: "/props",
                pointer: "/default_generation_settings/n_ctx",
            }),
        },
    }
}

impl Api {
    /// A request without its prompt, the same for all samples: what follows the prompt in the object.
    pub(super) fn rest(&self, model: &ServedModel) -> String {
        let rest = (self.request)(model).to_string();
        rest.strip_prefix('{').unwrap_or(&rest).to_owned()
    }

    /// A request.
    pub(super) fn request(&self, prompt: &[i64], rest: &str) -> Result<String, String> {
        let prompt = serde_json::to_string(prompt).map_err(|error| error.to_string())?;
        Ok(format!(r#"{{"{}":{prompt},{rest}"#, self.prompt))
    }

    /// Reads an event.
    pub(super) fn read(&self, data: &str) -> Result<Chunk, String> {
        if data.trim() == DONE {
            return Ok(Chunk { last: true, ..Chunk::default() });
        }
        match fault(data) {
            Some(fault) => Err(format!("the server failed: {fault}")),
            None => (self.read)(data).map_err(|why| format!("an event cannot be used: {why}")),
        }
    }
}
