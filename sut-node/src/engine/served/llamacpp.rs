//! llama.cpp's `/completion`. Its stream omits ids while the text ends in incomplete UTF-8. The
//! omitted ids never arrive, and only the server's count of tokens reveals this.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    engine::served::output::{Chunk, Counts, expect_first, parse_finish},
    model::served_model::ServedModel,
};

/// Builds a request, without its prompt. By default llama.cpp samples, penalises repetition, has no
/// limit, and reuses the previous prompt.
pub(super) fn request(model: &ServedModel, seed: Option<u32>) -> Value {
    let mut request = json!({
        "stream": true,
        "return_tokens": true,
        "cache_prompt": false,
        "n_predict": model.max_tokens,
        "ignore_eos": false,
        "temperature": u8::from(model.sampled),
        "top_k": u8::from(!model.sampled),
        "top_p": 1,
        "min_p": 0,
        "repeat_penalty": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "dry_multiplier": 0,
    });
    if let Some(seed) = seed {
        request["seed"] = seed.into();
    }
    request
}

#[derive(Deserialize)]
struct LlamaCppEvent {
    #[serde(default)]
    index: u64,
    tokens: Option<Vec<i64>>,
    #[serde(default)]
    stop: bool,
    stop_type: Option<String>,
    #[serde(default)]
    truncated: bool,
    tokens_predicted: Option<usize>,
    tokens_evaluated: Option<usize>,
    timings: Option<Timings>,
}

#[derive(Deserialize)]
struct Timings {
    cache_n: Option<usize>,
}

pub(super) fn read(data: &str) -> Result<Chunk, String> {
    let event: LlamaCppEvent = serde_json::from_str(data).map_err(|error| error.to_string())?;
    expect_first(event.index)?;
    if event.truncated {
        return Err("the server truncated the prompt; start it with a longer context".into());
    }
    let word = event.stop_type.filter(|_| event.stop);
    Ok(Chunk {
        ids: event.tokens.unwrap_or_default(),
        finish: word.map(|word| parse_finish(&word, "eos", "limit")).transpose()?,
        counts: Counts {
            prompt: event.tokens_evaluated,
            output: event.tokens_predicted,
            cached: event.timings.and_then(|timings| timings.cache_n),
        },
        last: event.stop,
        ..Chunk::default()
    })
}
