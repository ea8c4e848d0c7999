//! Faults of a serving engine's response over HTTP: each fails the sample, with an error that names
//! the fault.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::fake::{FakeServer, Step, ask, chunk, events, head, patience, refusal, settings};
use crate::engine::{
    remote::testing::{tiny, wait_for},
    served::settings::Dialect::{Sglang, Vllm},
};

const FIRST: &str = r#"{"choices":[{"index":0,"text":"","token_ids":[7],"finish_reason":null}]}"#;
const LAST: &str = r#"{"choices":[{"index":0,"token_ids":[8,9],"finish_reason":"length"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":3}}"#;
const DONE: &str = "[DONE]";

/// Requests three tokens from a fake vLLM that executes `acts`. Returns the tokens, or the error.
fn of(acts: Vec<Step>, timeout: Duration) -> Result<Vec<i32>, String> {
    let server = FakeServer::always(acts);
    let mut settings = settings(&[&server.url], Vllm, tiny(3, &[2]));
    settings.servers.timeout = timeout;
    let (taken, outcome) = ask(&settings);
    outcome.map(|_| taken).map_err(|error| error.to_string())
}

#[test]
fn oddities_that_do_no_harm() {
    let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#;
    let empty = r#"{"choices":[{"index":0,"text":"","token_ids":[]}]}"#;
    let odd = r#"{"choices":null,"usage":null,"error":null,"more":{"error":1}}"#;
    let whole = events(&[role, odd, FIRST, empty, LAST, USAGE, DONE]);
    assert_eq!(of(whole, patience("")).unwrap(), [7, 8, 9]);
    let mut acts = events(&[FIRST, LAST, USAGE, DONE]);
    acts.insert(1, chunk(b": ping\r\n\r\nid: 1\r\nretry: 7\r\n\r\n"));
    assert_eq!(of(acts, patience("")).unwrap(), [7, 8, 9]);
}

#[test]
fn every_fault_is_a_failure_with_its_name() {
    let cut = |acts: &[Step], then: Step| [acts, &[then]].concat();
    let begun = [head(), chunk(format!("data: {FIRST}\n\n").as_bytes())];
    let half = [&begun[..], &[Step::Send(b"ff\r\ndata: {\"cho".to_vec())]].concat();
    let chatter = |event: &[u8]| match chunk(event) {
        Step::Send(bytes) => Step::Repeat(bytes),
        act => act,
    };
    let long = format!("data: {}", "x".repeat(100 << 20));
    let end = |reason: &str| LAST.replace("length", reason);
    for (name, acts, words) in [
        (
            "error",
            events(&[FIRST, r#"{"error":{"message":"CUDA"}}"#, DONE]),
            "after 1 token: the server failed: CUDA",
        ),
        (
            "object",
            events(&[r#"{"object":"error","message":"no"}"#, DONE]),
            "the server failed: no",
        ),
        (
            "event",
            vec![head(), chunk(b"event: error\ndata: broken\n\n")],
            "the server failed: broken",
        ),
        ("abort", events(&[FIRST, &end("abort"), USAGE, DONE]), "finish reason is `abort`"),
        ("finish error", events(&[FIRST, &end("error"), USAGE, DONE]), "finish reason is `error`"),
        (
            "count",
            events(&[FIRST, LAST, &USAGE.replace("n_tokens\":3", "n_tokens\":4"), DONE]),
            "generated 4 tokens but returned 3 token ids; check the server's version",
        ),
        (
            "no count",
            events(&[FIRST, LAST, DONE]),
            "does not report the number of generated tokens",
        ),
        (
            "prompt",
            events(&[FIRST, LAST, &USAGE.replace("t_tokens\":4", "t_tokens\":5"), DONE]),
            "the prompt has 4 tokens, but the server read 5; check the server's version",
        ),
        (
            "no prompt",
            events(&[FIRST, LAST, &USAGE.replace("\"prompt_tokens\":4,", ""), DONE]),
            "does not report the number of prompt tokens",
        ),
        ("no finish", events(&[FIRST, &USAGE.replace(":3", ":1"), DONE]), "has no finish reason"),
        ("no done", events(&[FIRST, LAST, USAGE]), "after 3 tokens: the response is truncated"),
        ("no token", events(&[&USAGE.replace(":3", ":0"), DONE]), "the output is empty"),
        ("too many", events(&[FIRST, LAST, LAST, USAGE, DONE]), "tokens follow the end"),
        ("too long", events(&[FIRST, FIRST, FIRST, FIRST]), "more than max_tokens = 3"),
        (
            "too short",
            events(&[&FIRST.replace("null", "\"length\""), &USAGE.replace(":3", ":1"), DONE]),
            "cut off after 1 token",
        ),
        (
            "repeated",
            events(&[FIRST, FIRST, &LAST.replace("8,9", "8"), &USAGE.replace(":3", ":2"), DONE]),
            "generated 2 tokens but returned 3 token ids",
        ),
        (
            "after eos",
            events(&[&FIRST.replace('7', "2"), LAST]),
            "continues after the end-of-text token, token 0",
        ),
        (
            "vocabulary",
            events(&[&FIRST.replace('7', "2048")]),
            "token 0 is 2048; ids go from 0 to 2047",
        ),
        ("negative", events(&[&FIRST.replace('7', "-1")]), "token 0 is -1"),
        ("fraction", events(&[&FIRST.replace('7', "7.5")]), "invalid event"),
        ("huge id", events(&[&FIRST.replace('7', "99999999999999999999")]), "invalid event"),
        ("json", events(&["{\"choices\":"]), "invalid event"),
        ("not UTF-8", vec![head(), chunk(b"data: \xff\xfe\n\n")], "invalid utf-8"),
        ("100 MB", vec![head(), chunk(long.as_bytes())], "bytes without an event"),
        ("closed", vec![Step::Close], "no answer"),
        ("closed later", cut(&begun, Step::Close), "after 1 token: "),
        ("closed within", cut(&half, Step::Close), "after 1 token: "),
        ("silent", vec![Step::Hang], "no progress within --url-timeout"),
        ("silent later", cut(&begun, Step::Hang), "after 1 token: no progress within"),
        (
            "silent end",
            cut(&events(&[FIRST, LAST, USAGE])[..4], Step::Hang),
            "after 3 tokens: no progress within",
        ),
        (
            "chatter",
            cut(&begun, chatter(b"data: {\"choices\":[]}\n\n")),
            "after 1 token: no progress within",
        ),
        ("pings", cut(&begun, chatter(b": ping\n\n")), "after 1 token: "),
        ("no HTTP", vec![Step::Send(b"SSH-2.0-OpenSSH\r\n".to_vec())], "no answer"),
        ("moved", refusal("307 Temporary Redirect", "location: /x\r\n", ""), "status 307"),
        (
            "token",
            refusal("401 Unauthorized", "", r#"{"error":"Unauthorized"}"#),
            "status 401 Unauthorized: Unauthorized",
        ),
        ("broken", refusal("500 Internal Server Error", "", "prompt"), "the model failed: "),
        (
            "page",
            refusal("200 OK", "content-type: text/html\r\n", "<p>hello"),
            "expected a stream of events, received text/html: <p>hello",
        ),
        (
            "another type that begins alike",
            refusal("200 OK", "content-type: text/event-stream-x\r\n", ""),
            "expected a stream of events, received text/event-stream-x: ",
        ),
        (
            "busy",
            refusal("503 Service Unavailable", "retry-after: 0\r\n", "Loading"),
            "status 503 Service Unavailable: Loading; the server asks for a pause of 0 s, tried 4 times",
        ),
        (
            "busy for ever",
            refusal("503 Service Unavailable", "retry-after: 99999999999999999999\r\n", "Loading"),
            "s, tried 1 times",
        ),
        (
            "busy for long",
            refusal("429 Too Many Requests", "retry-after: 3600\r\n", "slow down"),
            "slow down; the server asks for a pause of 3600 s, tried 1 times",
        ),
    ] {
        let error = of(acts, patience(words)).map(|ids| format!("{name}: {ids:?}")).unwrap_err();
        assert!(error.contains(words) && error.contains("http://127.0.0.1:"), "{name}: {error}");
    }
}

/// Returns an event of SGLang, with the number of tokens so far.
fn event(ids: &str, so_far: usize) -> String {
    format!(
        r#"{{"output_ids":[{ids}],"meta_info":{{"completion_tokens":{so_far},"finish_reason":null}}}}"#
    )
}

#[test]
fn events_that_hold_now_all_tokens_and_now_the_new_ones_are_a_failure() {
    for second in [event("8", 2), event("7,8", 2)] {
        let third = if second.contains("7,8") { event("9", 3) } else { event("7,8,9", 3) };
        let server = FakeServer::always(events(&[&event("7", 1), &second, &third]));
        let (taken, outcome) = ask(&settings(&[&server.url], Sglang, tiny(3, &[])));
        assert!(outcome.unwrap_err().to_string().contains("some events hold all tokens"));
        assert_eq!(taken, [7, 8]);
    }
}

#[test]
fn tokens_that_are_taken_back_are_a_failure() {
    let server =
        FakeServer::always(events(&[&event("7", 1), &event("7,8", 2), &event("7,9,4", 3)]));
    let (taken, outcome) = ask(&settings(&[&server.url], Sglang, tiny(3, &[])));
    assert!(outcome.unwrap_err().to_string().contains("contradicts tokens"));
    assert_eq!(taken, [7, 8]);
}

#[test]
fn a_server_with_too_much_to_do_is_asked_again_before_the_first_token() {
    let server = FakeServer::start(|number, _| match number {
        0 => refusal("503 Service Unavailable", "retry-after: 1\r\n", "Loading model"),
        1 => refusal("429 Too Many Requests", "", ""),
        _ => events(&[FIRST, LAST, USAGE, DONE]),
    });
    let before = Instant::now();
    let (taken, outcome) = ask(&settings(&[&server.url], Vllm, tiny(3, &[])));
    outcome.unwrap();
    assert_eq!((&taken[..], server.requests().len()), (&[7, 8, 9][..], 3));
    assert!(before.elapsed().as_millis() >= 1500, "as long as it asked for");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let url = "http://127.0.0.1:1";
    let error = ask(&settings(&[url], Vllm, tiny(3, &[]))).1.unwrap_err().to_string();
    assert!(error.contains(url) && error.contains("refused"), "{error}");
}

#[test]
fn a_failed_request_is_cut() {
    let long = events(&[FIRST, FIRST, FIRST, FIRST]);
    let server = FakeServer::always([&long[..5], &[Step::Hang]].concat());
    ask(&settings(&[&server.url], Vllm, tiny(3, &[]))).1.unwrap_err();
    wait_for(|| server.left.load(Ordering::SeqCst) == 1);
}
