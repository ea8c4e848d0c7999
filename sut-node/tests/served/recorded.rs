//! Responses of serving engines: recorded from real servers, or written according to a server's
//! source code.

use serde_json::Value;

use super::fake::{FakeServer, ask, replay, settings};
use crate::{
    engine::{
        remote::testing::{PROMPT, tiny},
        served::settings::{
            Dialect::{Llamacpp, Sglang, Trtllm, Vllm},
            ServedConfig,
        },
    },
    ground::error::EngineError,
    model::{sampling_seed::SamplingSeed, served_model::ServedModel},
};

#[test]
fn recorded_answers_give_their_ids() {
    for (name, dialect, max_tokens, eos, ids, cached) in [
        ("vllm_stream", Vllm, 4, &[][..], &[291, 1611, 379, 410][..], None),
        ("vllm_stop_stream", Vllm, 6, &[379], &[291, 1611, 379], None),
        ("vllm_continuous_usage", Vllm, 2, &[], &[291, 1611], None),
        ("llama_stream", Llamacpp, 4, &[], &[291, 1611, 379, 410], Some(0)),
        ("llama_eos", Llamacpp, 6, &[2], &[2], Some(0)),
        ("sglang_cumulative", Sglang, 4, &[], &[291, 1611, 379, 410], Some(0)),
        ("sglang_incremental", Sglang, 4, &[410], &[291, 1611, 379, 410], Some(3)),
        ("trtllm_stream", Trtllm, 4, &[], &[291, 1611, 379, 410], Some(0)),
        // Bytes after `[DONE]` or after the last event are ignored.
        ("vllm_stream", Vllm, 4, &[2], &[291, 1611, 379, 410], None),
    ] {
        for piece in [1, 7, 100_000] {
            let server = FakeServer::always(replay(name, piece));
            let settings = settings(&[&server.url], dialect, tiny(max_tokens, eos));
            let (taken, outcome) = ask(&settings);
            let remarks = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((&taken[..], remarks.cached), (ids, cached), "{name}");
            let fingerprint = "vllm-0.32.0-e5c060ef".to_owned();
            assert_eq!(remarks.server, (dialect == Vllm).then_some(fingerprint), "{name}");
        }
    }
}

#[test]
fn recorded_failures_are_named() {
    for (name, dialect, bad_sample, words) in [
        ("vllm_stream_noids", Vllm, false, "the response has no token ids"),
        ("vllm_badid", Vllm, false, "after 0 tokens: the server failed: EngineCore encountered"),
        ("vllm_toolong", Vllm, false, "status 400 Bad Request: max_tokens=4000 cannot be greater"),
        ("vllm_negid", Vllm, true, "status 400 Bad Request: 6 validation errors"),
        ("vllm_nomodel", Vllm, false, "status 404 Not Found: The model `nope` does not exist"),
        ("vllm_batch", Vllm, false, "expected one output, received output 1"),
        ("llama_utf8_true", Llamacpp, false, "the response has no token ids"),
        ("llama_plain", Llamacpp, false, "expected a stream of events, received application/json"),
        ("llama_badid", Llamacpp, true, "status 400 Bad Request: Prompt contains invalid tokens"),
        ("llama_toolong", Llamacpp, true, "exceeds the available context size"),
        ("llama_v1", Vllm, false, "the response has no token ids"),
        (
            "sglang_abort",
            Sglang,
            false,
            "the output is incomplete; its finish reason is `abort`: Out of memory",
        ),
        ("vllm_stream", Llamacpp, false, "the response has no token ids"),
        ("llama_stream", Vllm, false, "the response is truncated"),
    ] {
        let server = FakeServer::always(replay(name, 100_000));
        let (_, outcome) = ask(&settings(&[&server.url], dialect, tiny(5, &[])));
        let error = outcome.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(words) && text.contains(&server.url), "{name}: {text}");
        assert_eq!(matches!(error, EngineError::BadSample(_)), bad_sample, "{name}: {text}");
    }
}

#[test]
fn requests_ask_for_greedy_ids_of_the_whole_prompt() {
    for (dialect, path, at, keys) in [
        (
            Vllm,
            "/v1/completions",
            "",
            r#"{"model":"tiny","prompt":[1,5,9,13],"stream":true,"return_token_ids":true,"max_tokens":4,"min_tokens":1,
            "seed":0,"temperature":0,"repetition_penalty":1,"presence_penalty":0,"frequency_penalty":0,"stop_token_ids":[2],
            "stream_options":{"include_usage":true}}"#,
        ),
        (
            Trtllm,
            "/v1/completions",
            "",
            r#"{"model":"tiny","prompt":[1,5,9,13],"stream":true,"detokenize":false,"include_stop_str_in_output":true,
            "temperature":0,"repetition_penalty":1,"max_tokens":4,"min_tokens":1,"stop_token_ids":[2]}"#,
        ),
        (Sglang, "/generate", "", r#"{"input_ids":[1,5,9,13],"stream":true}"#),
        (
            Sglang,
            "/generate",
            "/sampling_params",
            r#"{"temperature":0,"max_new_tokens":4,"min_new_tokens":1,"repetition_penalty":1,"stop_token_ids":[2],
            "no_stop_trim":true}"#,
        ),
        (
            Llamacpp,
            "/completion",
            "",
            r#"{"prompt":[1,5,9,13],"stream":true,"return_tokens":true,"cache_prompt":false,"temperature":0,"n_predict":4,
            "repeat_penalty":1}"#,
        ),
    ] {
        let server = FakeServer::always(vec![super::fake::Step::Close]);
        ask(&settings(&[&server.url], dialect, tiny(4, &[2]))).1.unwrap_err();
        let request = server.requests().first().cloned().unwrap();
        let (line, body) = request.split_once("\r\n").unwrap();
        assert_eq!(line, format!("POST {path} HTTP/1.1"));
        let body: Value = serde_json::from_str(body).unwrap();
        let wanted: Value = serde_json::from_str(keys).unwrap();
        let sent = body.pointer(at).unwrap();
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(sent.get(key), Some(value), "{dialect:?} {key}");
        }
        assert_eq!(PROMPT.len(), 4);
    }
}

#[test]
fn a_model_that_samples_has_every_parameter_in_its_dialect_and_a_seed_only_on_request() {
    for (dialect, at, seed, keys) in [
        (Vllm, "", "seed", r#"{"temperature":1,"top_p":1,"top_k":-1,"min_p":0}"#),
        (Trtllm, "", "seed", r#"{"temperature":1,"top_p":1,"top_k":0}"#),
        (
            Sglang,
            "/sampling_params",
            "sampling_seed",
            r#"{"temperature":1,"top_p":1,"top_k":-1,"min_p":0}"#,
        ),
        (Llamacpp, "", "seed", r#"{"temperature":1,"top_p":1,"top_k":0,"min_p":0}"#),
    ] {
        let wanted: Value = serde_json::from_str(keys).unwrap();
        let model = ServedModel { sampled: true, ..tiny(4, &[2]) };
        for sampling_seed in [None, Some(SamplingSeed(7))] {
            let server = FakeServer::always(vec![super::fake::Step::Close]);
            let settings = settings(&[&server.url], dialect, model.clone());
            ask(&ServedConfig { sampling_seed, ..settings }).1.unwrap_err();
            let request = server.requests().first().cloned().unwrap();
            let (_, body) = request.split_once("\r\n").unwrap();
            let body: Value = serde_json::from_str(body).unwrap();
            let sent = body.pointer(at).unwrap();
            for (key, value) in wanted.as_object().unwrap() {
                assert_eq!(sent.get(key), Some(value), "{dialect:?} {key}");
            }
            let of_prompt = sampling_seed.map(|seed| seed.of_prompt(PROMPT.into_iter()));
            assert_eq!(sent.get(seed), of_prompt.map(Value::from).as_ref(), "{dialect:?}");
        }
    }
}
