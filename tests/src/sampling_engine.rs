//! A fake serving engine that samples, in each dialect. Its outputs depend on the prompt and the
//! seed, and differ at each request without a seed. It refuses requests that do not turn off every
//! restriction of sampling.

use std::hash::{BuildHasher as _, RandomState};

use serde_json::{Value, json};

use crate::fake_server::{FakeServer, events, refusal};

/// Description of the served model, for a SUT node: the limits and ids of GPT-OSS-120B.
pub const SAMPLED_MODEL: &str = "name = 'tiny'\nvocabulary = 201088\nmax_input_tokens = 15330\n\
    max_tokens = 32768\neos = [200002, 199999, 200012]\nsampled = true\n";

const FIRST: u64 = 200_005;
const END: u64 = 200_002;
/// Ids below it begin and end nothing.
const PLAIN: u64 = 199_998;

/// Maximum number of ids of an event.
const EVENT_IDS: usize = 64;

/// Starts an engine that speaks a dialect. Returns its URL.
pub fn start(dialect: &'static str) -> String {
    let fake = FakeServer::start(move |_, request| {
        let body = request.split_once('\n').map_or("", |(_, body)| body);
        // A request without a prompt, such as for its health.
        let Ok(request) = serde_json::from_str(body) else {
            return refusal("404 Not Found", "", "");
        };
        match answer(dialect, &request) {
            Some(data) => events(&data.iter().map(String::as_str).collect::<Vec<_>>()),
            None => refusal("500 Internal Server Error", "", "not a request to sample"),
        }
    });
    fake.url
}

/// Returns the data of a response's events; `None` if the request is not one to sample.
fn answer(dialect: &str, request: &Value) -> Option<Vec<String>> {
    let (prompt, params, limit, seed, off) = match dialect {
        "sglang" => {
            let params = &request["sampling_params"];
            ("input_ids", params, "max_new_tokens", "sampling_seed", -1)
        }
        "llamacpp" => ("prompt", request, "n_predict", "seed", 0),
        "trtllm" => ("prompt", request, "max_tokens", "seed", 0),
        _ => ("prompt", request, "max_tokens", "seed", -1),
    };
    let is_sampled = params["temperature"] == 1 && params["top_p"] == 1 && params["top_k"] == off;
    let most = usize::try_from(params[limit].as_u64().filter(|_| is_sampled)?).ok()?;
    let prompt: Vec<_> = request[prompt].as_array()?.iter().map(Value::as_u64).collect();
    let seed = params[seed].as_u64().unwrap_or_else(|| RandomState::new().hash_one(0));
    let mut state = prompt.iter().fold(seed, |state, id| mix(state ^ id.unwrap_or_default()));
    let mut draw = |count: u64| {
        state = mix(state);
        state % count
    };
    // A quarter of the outputs is cut off at the limit.
    let length = if draw(4) == 0 { most } else { 2 + draw(most.max(3) as u64 - 2) as usize };
    let length = length.min(most);
    let mut ids: Vec<_> =
        (0..length).map(|place| if place == 0 { FIRST } else { draw(PLAIN) }).collect();
    let is_cut = length == most;
    if !is_cut {
        ids[length - 1] = END;
    }
    Some(data_of(dialect, &ids, prompt.len(), is_cut))
}

fn data_of(dialect: &str, ids: &[u64], prompt: usize, is_cut: bool) -> Vec<String> {
    let reason = if is_cut { "length" } else { "stop" };
    let (mut so_far, total) = (0, ids.len());
    let mut part = |ids: &[u64]| {
        so_far += ids.len();
        let reason = (so_far == total).then_some(reason);
        match dialect {
            "sglang" => {
                let finish = reason.map(|reason| json!({ "type": reason }));
                json!({ "output_ids": ids, "meta_info": {
                    "prompt_tokens": prompt, "completion_tokens": so_far, "cached_tokens": 0,
                    "finish_reason": finish,
                } })
            }
            "llamacpp" => json!({ "index": 0, "tokens": ids, "stop": false }),
            _ => json!({ "choices": [{ "index": 0, "token_ids": ids, "finish_reason": reason }] }),
        }
    };
    let mut data: Vec<_> = ids.chunks(EVENT_IDS).map(&mut part).collect();
    data.extend(match dialect {
        "sglang" => None,
        "llamacpp" => Some(json!({
            "index": 0, "tokens": [], "stop": true, "truncated": false,
            "stop_type": if is_cut { "limit" } else { "eos" },
            "tokens_predicted": ids.len(), "tokens_evaluated": prompt, "timings": { "cache_n": 0 },
        })),
        _ => Some(json!({ "choices": [], "usage": {
            "prompt_tokens": prompt, "completion_tokens": ids.len(),
            "prompt_tokens_details": { "cached_tokens": 0 },
        } })),
    });
    let end = (dialect != "llamacpp").then(|| "[DONE]".to_owned());
    data.iter().map(Value::to_string).chain(end).collect()
}

/// Mixes the bits of a number (SplitMix64).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
