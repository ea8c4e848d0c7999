//! Dialects: the forms in which vLLM, SGLang, TensorRT-LLM and llama.cpp expect requests and send
//! events.

use serde_json::Value;

use crate::{
    engine::{
        remote::refusal::short,
        served::{completions, llamacpp, output::Chunk, settings::Dialect, sglang},
    },
    model::served_model::ServedModel,
};

/// Dialect of a product: its paths, its keys, and the functions that build requests and read
/// events.
pub(crate) struct Api {
    pub(crate) product: &'static str,
    /// Path to which requests are sent.
    pub(super) path: &'static str,
    /// Key of the prompt's ids in a request.
    prompt: &'static str,
    /// Builds a request without its prompt, with the seed of a sample.
    request: fn(&ServedModel, Option<u32>) -> Value,
    /// Reads the data of an event.
    read: fn(&str) -> Result<Chunk, String>,
    /// Setting of the server that turns prefix caching off.
    pub(crate) no_caching: &'static str,
    /// Path of the server's metrics, if they report whether prefix caching is on.
    pub(super) metrics: Option<&'static str>,
    /// Location of the maximum number of tokens of a prompt and its output together, if the server
    /// reports it.
    pub(super) context: Option<Context>,
}

/// Page of a server that reports a limit, and the limit's location on it.
pub(super) struct Context {
    pub(super) path: &'static str,
    /// JSON pointer to the limit.
    pub(super) pointer: &'static str,
}

/// Location of the limit in the list of models, in which the served model comes first.
const IN_MODELS: Context = Context { path: "/v1/models", pointer: "/data/0/max_model_len" };

/// Data of the event after the end of a response, in dialects whose last event has no mark.
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
            no_caching: "cache_prompt: false, which every request sets",
            metrics: None,
            context: Some(Context {
                path: "/props",
                pointer: "/default_generation_settings/n_ctx",
            }),
        },
    }
}

impl Api {
    /// Returns the part of a request that follows the prompt in the JSON object. This part is equal
    /// for all samples without a seed.
    pub(super) fn rest(&self, model: &ServedModel, seed: Option<u32>) -> String {
        let seed = if model.sampled { seed } else { Some(0) };
        let rest = (self.request)(model, seed).to_string();
        rest.strip_prefix('{').unwrap_or(&rest).to_owned()
    }

    pub(super) fn request(&self, prompt: &[i64], rest: &str) -> Result<String, String> {
        let prompt = serde_json::to_string(prompt).map_err(|error| error.to_string())?;
        Ok(format!(r#"{{"{}":{prompt},{rest}"#, self.prompt))
    }

    pub(super) fn read(&self, data: &str) -> Result<Chunk, String> {
        if data.trim() == DONE {
            return Ok(Chunk { last: true, ..Chunk::default() });
        }
        match fault(data) {
            Some(fault) => Err(format!("the server failed: {fault}")),
            None => (self.read)(data).map_err(|why| format!("invalid event: {why}")),
        }
    }
}

/// Returns the error that a server reports, if any: `{"error": …}` or `{"object": "error", …}`.
fn fault(data: &str) -> Option<String> {
    // Most events are not errors, and need no second parsing.
    if !data.contains("error") {
        return None;
    }
    let value: Value = serde_json::from_str(data).ok()?;
    let error = match value.get("error") {
        Some(error) if !error.is_null() => error,
        _ if value.get("object").and_then(Value::as_str) == Some("error") => &value,
        _ => return None,
    };
    let message = error.get("message").unwrap_or(error);
    Some(short(message.as_str().map_or_else(|| message.to_string(), ToOwned::to_owned).as_str()))
}

/// Returns the error text of a refusal's body.
pub(super) fn refusal(body: &str) -> String {
    fault(body).unwrap_or_else(|| short(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_tokens() {
        for (data, words) in [
            (r#"{"error": {"message": "out of\nmemory", "code": 500}}"#, "out of memory"),
            (r#"{"error": "overloaded"}"#, "overloaded"),
            (r#"{"error": {"code": 7}}"#, r#"{"code":7}"#),
            (r#"{"object": "error", "message": "no such model", "code": 404}"#, "no such model"),
        ] {
            assert_eq!(fault(data).as_deref(), Some(words), "{data}");
        }
        for data in [
            r#"{"choices": [{"text": "an error", "token_ids": [1]}]}"#,
            r#"{"choices": [], "error": null}"#,
            "error",
        ] {
            assert_eq!(fault(data), None, "{data}");
        }
        assert_eq!(refusal("<html>\n no"), "<html> no");
    }
}
