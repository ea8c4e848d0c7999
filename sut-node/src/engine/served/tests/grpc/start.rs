//! What is found out before a node is ready.

use netdiv_words::{
    Found,
    PrefixCaching::{CannotTell, Off, On},
};
use tonic::Status;

use super::{
    super::start::answers_through,
    server::{Vllm, end, of, part, sends},
};
use crate::engine::served::{
    grpc::vllm::proto::generate_response::Response::{Chunk, Complete},
    probe::probe,
};

/// A server that answers each prompt with two tokens, of which it had some.
fn with_cached(cached: impl Fn(usize) -> u32 + Send + Sync + 'static) -> Vllm {
    Vllm::start(move |number, request| {
        let mut messages = [part(&[7, 8]), end(&[7, 8], "length")];
        let prompt = request.tokenized.as_ref().unwrap().input_ids.len() as u32;
        for message in &mut messages {
            match &mut message.response {
                Some(Chunk(part)) => {
                    (part.prompt_tokens, part.cached_tokens) = (prompt, cached(number));
                }
                // What was said once counts.
                Some(Complete(end)) => end.prompt_tokens = prompt,
                None => {}
            }
        }
        Ok(sends(&messages))
    })
}

#[test]
fn prefix_caching_is_found_out() {
    for (second, found) in [(0, Off), (384, On)] {
        let server = with_cached(move |number| number as u32 * second);
        let probed = probe(&server.settings(64)).unwrap();
        assert_eq!((probed.prefix_caching, &probed.framework[..]), (found, "vLLM"));
        let requests = server.seen.requests.lock();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].tokenized, requests[1].tokenized, "the same prompt twice");
        assert_eq!(requests[0].sampling_params.as_ref().unwrap().max_tokens, Some(2));
    }
    let server = with_cached(|_| 0);
    let mut short = server.settings(64);
    short.model.max_input_tokens = 256;
    assert_eq!(probe(&short).unwrap().prefix_caching, CannotTell);
}

#[test]
fn a_server_with_another_model_is_refused() {
    let whole = || sends(&[part(&[7, 8]), end(&[7, 8], "length")]);
    for (name, vocabulary, words) in [
        ("other", 2048, "it serves `other`, not `tiny`; start it with --served-model-name tiny"),
        ("tiny", 2047, "its vocabulary has 2047 ids, and that of the model's file 2048"),
    ] {
        let server = Vllm::serving(name, vocabulary, None, move |_, _| Ok(whole()));
        let error = probe(&server.settings(64)).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(&server.url), "{error}");
        assert_eq!(server.seen.requests.lock().len(), 0, "no prompt was sent");
    }
}

#[test]
fn a_node_answers_through_vllm() {
    let server = Vllm::start(|_, request| {
        let most = request.sampling_params.as_ref().unwrap().max_tokens.unwrap();
        let ids = &[7, 8, 9][..most as usize];
        Ok(sends(&[part(&ids[..1]), part(&ids[1..]), end(&ids[1..], "length")]))
    });
    let found = answers_through("vllm-grpc", &server.url);
    assert_eq!(found, Some(Found { prefix_caching: CannotTell }));
    assert_eq!(server.seen.requests.lock().len(), 3, "two tries and the sample");
    let tokens = server.seen.tokens.lock();
    assert!(tokens.iter().all(|token| token == "Bearer a-secret-that-is-long-enough"));
}

#[test]
fn every_server_is_asked() {
    let good = with_cached(|_| 0);
    let bad = Vllm::start(|_, _| Err(Status::internal("no memory")));
    let error = probe(&of(&[&good.url, &bad.url], 64)).unwrap_err().to_string();
    assert!(error.contains(&bad.url) && error.contains("no memory"), "{error}");
}
