//! SGLang's `/generate`. Its events hold all tokens so far, or only the new ones if the server was
//! started that way.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    engine::served::output::{Chunk, Counts, expect_first, parse_finish},
    model::served_model::ServedModel,
};

/// Builds a request, without its prompt. Without `no_stop_trim` SGLang omits the stop id. It obeys
/// a seed only if it was started for deterministic inference.
pub(super) fn request(model: &ServedModel, seed: Option<u32>) -> Value {
    let mut request = json!({
        "stream": true,
        "sampling_params": {
            "max_new_tokens": model.max_tokens,
            "min_new_tokens": model.min_tokens,
            "stop_token_ids": model.eos,
            "ignore_eos": false,
            "no_stop_trim": true,
            "skip_special_tokens": false,
            "n": 1,
            "temperature": u8::from(model.sampled),
            "top_p": 1,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "repetition_penalty": 1,
        },
    });
    if model.sampled {
        let params = &mut request["sampling_params"];
        params["top_k"] = (-1).into();
        params["min_p"] = 0.into();
        if let Some(seed) = seed {
            params["sampling_seed"] = seed.into();
        }
    }
    request
}

#[derive(Deserialize)]
struct SglangEvent {
    #[serde(default)]
    index: u64,
    output_ids: Option<Vec<i64>>,
    meta_info: Option<MetaInfo>,
}

#[derive(Deserialize)]
struct MetaInfo {
    finish_reason: Option<FinishReason>,
    prompt_tokens: Option<usize>,
    completion_tokens: Option<usize>,
    cached_tokens: Option<usize>,
}

#[derive(Deserialize)]
struct FinishReason {
    r#type: String,
    message: Option<String>,
}

pub(super) fn read(data: &str) -> Result<Chunk, String> {
    let event: SglangEvent = serde_json::from_str(data).map_err(|error| error.to_string())?;
    expect_first(event.index)?;
    let mut chunk = Chunk { ids: event.output_ids.unwrap_or_default(), ..Chunk::default() };
    let Some(meta) = event.meta_info else { return Ok(chunk) };
    chunk.so_far = meta.completion_tokens;
    chunk.counts = Counts {
        prompt: meta.prompt_tokens,
        output: meta.completion_tokens,
        cached: meta.cached_tokens,
    };
    if let Some(FinishReason { r#type, message }) = meta.finish_reason {
        let said = message.map(|message| format!(": {message}")).unwrap_or_default();
        let end = parse_finish(&r#type, "stop", "length").map_err(|why| format!("{why}{said}"))?;
        chunk.finish = Some(end);
    }
    Ok(chunk)
}
