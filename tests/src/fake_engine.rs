//! A fake serving engine that looks like vLLM to its clients: token ids over HTTP, and faults on
//! request.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::fake_server::{FakeServer, Step, chunk, events, refusal};

/// Number of tokens of every output.
pub const OUTPUT_TOKENS: usize = 8;

/// Description of the served model, for a SUT node.
pub const MODEL: &str =
    "name = 'tiny'\nvocabulary = 32000\nmax_input_tokens = 1024\nmax_tokens = 8\n";

/// Number of requests with which a node probes the engine at its start. They precede the requests
/// for samples.
pub const PROBE: usize = 2;

/// Part of a response that is sent before its fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPoint {
    /// This number of tokens.
    Tokens(usize),
    /// Everything that the client waits for.
    End,
}

/// Fault of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineFaultKind {
    /// Closes the connection.
    Closed,
    /// Sends nothing more until the client gives up.
    Silent,
    /// Sends an error as an event.
    Error,
    /// Completes the response, but reports that one token of the prompt came from a cache.
    Cached,
}

/// A fault, and the requests that it affects.
#[derive(Debug, Clone)]
pub struct EngineFault {
    /// Indices of the affected requests.
    pub requests: Range<usize>,
    /// Part of the response that is sent before the fault.
    pub after: FaultPoint,
    /// Kind of the fault.
    pub wrong: EngineFaultKind,
}

/// A running engine. Its thread ends with the process.
#[derive(Debug)]
pub struct FakeEngine {
    /// Base URL.
    pub url: String,
}

impl FakeEngine {
    /// Starts an engine on a free port.
    pub fn start(mishap: Option<EngineFault>) -> Self {
        let completions = AtomicUsize::new(0);
        let fake = FakeServer::start(move |_, request| {
            let body = request.split_once('\n').map_or("", |(_, body)| body);
            // A request without a prompt, such as for its health.
            let Ok(request) = serde_json::from_str(body) else {
                return refusal("404 Not Found", "", "");
            };
            let number = completions.fetch_add(1, Ordering::SeqCst);
            acts(&request, mishap.as_ref().filter(|mishap| mishap.requests.contains(&number)))
        });
        Self { url: fake.url }
    }
}

/// Returns the steps of the server for a request: the response, or its beginning and the fault.
fn acts(request: &Value, mishap: Option<&EngineFault>) -> Vec<Step> {
    let cached = u8::from(mishap.is_some_and(|mishap| mishap.wrong == EngineFaultKind::Cached));
    let answer = answer(request, cached);
    let mut acts = events(&answer.iter().map(String::as_str).collect::<Vec<_>>());
    let Some(mishap) = mishap else { return acts };
    let sent = match mishap.after {
        FaultPoint::Tokens(count) => count.min(answer.len()),
        FaultPoint::End => answer.len(),
    };
    if mishap.wrong != EngineFaultKind::Cached {
        // The head precedes the events.
        acts.truncate(1 + sent);
    }
    match mishap.wrong {
        EngineFaultKind::Cached => {}
        EngineFaultKind::Closed => acts.push(Step::Close),
        EngineFaultKind::Silent => acts.push(Step::Hang),
        EngineFaultKind::Error => {
            let event = "data: {\"error\":{\"message\":\"CUDA error\",\"code\":500}}\n\n";
            acts.extend([chunk(event.as_bytes()), Step::Close]);
        }
    }
    acts
}

/// Returns the data of a response's events: one token each, chosen by the prompt, then the usage
/// and the end.
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
