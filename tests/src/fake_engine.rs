//! A serving engine as vLLM is one, seen from its clients: outputs of token ids over HTTP, and whatever goes wrong on request.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::fake_server::{Act, Fake, chunk, events};

/// Tokens of every output.
pub const OUTPUT_TOKENS: usize = 8;

/// What a SUT node has to know of the model that it serves.
pub const MODEL: &str =
    "name = 'tiny'\nvocabulary = 32000\nmax_input_tokens = 1024\nmax_tokens = 8\n";

/// Requests of a node's probe, which come before those of samples.
pub const PROBE: usize = 2;

/// How far an answer gets before something goes wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// So many tokens.
    Tokens(usize),
    /// All that the client waits for.
    End,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The connection is closed.
    Closed,
    /// Nothing more comes until the client gives up.
    Silent,
    /// An error in the stream of events.
    Error,
    /// Nothing, but that it had a token of the prompt from another one.
    Cached,
}

/// What goes wrong, and with the answers to which requests.
#[derive(Debug, Clone)]
pub struct Mishap {
    /// By the number of those before them.
    pub requests: Range<usize>,
    /// How far such an answer gets.
    pub after: After,
    /// What happens then.
    pub wrong: Wrong,
}

/// A running engine. Its thread ends with the process.
#[derive(Debug)]
pub struct FakeEngine {
    /// Where it listens.
    pub url: String,
}

impl FakeEngine {
    /// Starts one on a free port.
    pub fn start(mishap: Option<Mishap>) -> Self {
        let completions = AtomicUsize::new(0);
        let fake = Fake::start(move |_, request| {
            let body = request.split_once('\n').map_or("", |(_, body)| body);
            let Ok(request) = serde_json::from_str(body) else { return vec![Act::Close] };
            let number = completions.fetch_add(1, Ordering::SeqCst);
            acts(&request, mishap.as_ref().filter(|mishap| mishap.requests.contains(&number)))
        });
        Self { url: fake.url }
    }
}

/// The answer to a request, as far as nothing goes wrong with it.
fn acts(request: &Value, mishap: Option<&Mishap>) -> Vec<Act> {
    let cached = u8::from(mishap.is_some_and(|mishap| mishap.wrong == Wrong::Cached));
    let answer = answer(request, cached);
    let mut acts = events(&answer.iter().map(String::as_str).collect::<Vec<_>>());
    let Some(mishap) = mishap else { return acts };
    let sent = match mishap.after {
        After::Tokens(count) => count.min(answer.len()),
        After::End => answer.len(),
    };
    if mishap.wrong != Wrong::Cached {
        // The head goes before the events.
        acts.truncate(1 + sent);
    }
    match mishap.wrong {
        Wrong::Cached => {}
        Wrong::Closed => acts.push(Act::Close),
        Wrong::Silent => acts.push(Act::Hang),
        Wrong::Error => {
            let event = "data: {\"error\":{\"message\":\"CUDA error\",\"code\":500}}\n\n";
            acts.extend([chunk(event.as_bytes()), Act::Close]);
        }
    }
    acts
}

/// The data of an answer's events: a token each, which the prompt decides, and then what ends it.
fn answer(request: &Value, cached: u8) -> Vec<String> {
    let prompt = request["prompt"].as_array().map_or(&[][..], Vec::as_slice);
    let most = request["max_tokens"].as_u64().map_or(0, |most| most as usize);
    let token = |place: usize| {
        let reason = (place + 1 == most).then_some("length");
        let id = &prompt[place % prompt.len()];
        json!({ "choices": [{ "index": 0, "token_ids": [id], "finish_reason": reason }] })
    };
    let (read, made) = (prompt.len(), most);
    let details = json!({ "cached_tokens": cached });
    let usage = json!({
        "choices": [],
        "usage": {
            "prompt_tokens": read, "completion_tokens": made, "prompt_tokens_details": details,
        },
    });
    let events = (0..most).map(token).chain([usage]).map(|event| event.to_string());
    events.chain(["[DONE]".into()]).collect()
}
