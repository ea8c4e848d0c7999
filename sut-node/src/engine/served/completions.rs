//! `/v1/completions` with token ids, as vLLM and trtllm-serve implement it.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    engine::served::output::{Chunk, Counts, expect_first, parse_finish},
    model::served_model::ServedModel,
};

/// Builds a request to vLLM, without its prompt. vLLM takes missing keys from the model's
/// `generation_config.json`.
pub(super) fn vllm(model: &ServedModel, seed: Option<u32>) -> Value {
    let mut request = common(model, seed);
    request["return_token_ids"] = true.into();
    if model.sampled {
        request["top_k"] = (-1).into();
        request["min_p"] = 0.into();
    }
    request
}

/// Builds a request to trtllm-serve, without its prompt. trtllm-serve refuses unknown keys. Without
/// `detokenize` it returns ids in place of text, and a stop id only on request.
pub(super) fn trtllm(model: &ServedModel, seed: Option<u32>) -> Value {
    let mut request = common(model, seed);
    request["detokenize"] = false.into();
    request["include_stop_str_in_output"] = true.into();
    if model.sampled {
        request["top_k"] = 0.into();
    }
    request
}

fn common(model: &ServedModel, seed: Option<u32>) -> Value {
    let mut request = json!({
        "model": model.name,
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": model.max_tokens,
        "min_tokens": model.min_tokens,
        "stop_token_ids": model.eos,
        "ignore_eos": false,
        "add_special_tokens": false,
        "n": 1,
        "temperature": u8::from(model.sampled),
        "top_p": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "repetition_penalty": 1,
    });
    if let Some(seed) = seed {
        request["seed"] = seed.into();
    }
    request
}

#[derive(Deserialize)]
struct CompletionEvent {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    system_fingerprint: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    token_ids: Option<Vec<i64>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<usize>,
    completion_tokens: Option<usize>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<usize>,
}

pub(super) fn read(data: &str) -> Result<Chunk, String> {
    let event: CompletionEvent = serde_json::from_str(data).map_err(|error| error.to_string())?;
    let counts = event.usage.map_or(Counts::default(), |usage| Counts {
        prompt: usage.prompt_tokens,
        output: usage.completion_tokens,
        cached: usage.prompt_tokens_details.and_then(|details| details.cached_tokens),
    });
    let mut chunk = Chunk { counts, server: event.system_fingerprint, ..Chunk::default() };
    for choice in event.choices.unwrap_or_default() {
        expect_first(choice.index)?;
        let ids = choice.token_ids.unwrap_or_default();
        // Nearly always there is one choice, so its ids are moved.
        if chunk.ids.is_empty() {
            chunk.ids = ids;
        } else {
            chunk.ids.extend(ids);
        }
        if let Some(word) = choice.finish_reason {
            chunk.finish = Some(parse_finish(&word, "stop", "length")?);
        }
    }
    Ok(chunk)
}
