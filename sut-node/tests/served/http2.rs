//! Servers over HTTP/2 that close connections or end requests with a code: some requests are sent
//! again.

use std::time::{Duration, Instant};

use super::fake::{ask, settings};
use crate::engine::{
    remote::{
        http2_peer::{Http2Peer, data, end, go_away, head, rst_stream},
        testing::tiny,
    },
    served::settings::Dialect::Vllm,
};

const FIRST: &str = "data: {\"choices\":[{\"index\":0,\"token_ids\":[7]}]}\n\n";
const REST: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"token_ids\":[8,9],\"finish_reason\":\"length\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3}}\n\n",
    "data: [DONE]\n\n"
);

fn begun(stream: u32) -> Vec<u8> {
    [head(stream, "Text/Event-Stream; charset=utf-8"), data(stream, FIRST.as_bytes())].concat()
}

fn answer(stream: u32) -> Vec<u8> {
    [begun(stream), data(stream, REST.as_bytes()), end(stream)].concat()
}

/// Requests three tokens over HTTP/2. Returns the tokens, or the error.
fn of(peer: &Http2Peer) -> Result<Vec<i32>, String> {
    let url = format!("h2c://{}", peer.address);
    let (taken, outcome) = ask(&settings(&[&url], Vllm, tiny(3, &[2])));
    outcome.map(|_| taken).map_err(|error| error.to_string())
}

#[test]
fn a_request_that_was_not_processed_is_sent_again() {
    for (name, refusal, is_at_once) in [
        ("NO_ERROR", (|_| go_away(0, "")) as fn(u32) -> Vec<u8>, true),
        ("REFUSED_STREAM", |stream| rst_stream(stream, 7), true),
        ("ENHANCE_YOUR_CALM", |_| go_away(11, "too_many_pings"), false),
    ] {
        let peer = Http2Peer::start(move |number, stream| match number {
            0 => refusal(stream),
            _ => answer(stream),
        });
        let before = Instant::now();
        assert_eq!(of(&peer).unwrap(), [7, 8, 9], "{name}");
        assert_eq!(peer.requests(), 2, "{name}");
        assert_eq!(before.elapsed() < Duration::from_millis(400), is_at_once, "{name}");
    }
}

#[test]
fn a_server_that_never_processes_a_request_is_given_up() {
    let peer = Http2Peer::start(|_, _| go_away(0, "draining"));
    let error = of(&peer).unwrap_err();
    let words = "no answer: it closed the connection with GOAWAY NO_ERROR (\"draining\"): it is shutting down";
    assert!(error.contains(words) && error.contains("tried 4 times"), "{error}");
    assert_eq!(peer.requests(), 4);
}

#[test]
fn every_other_code_is_a_failure_with_its_name() {
    for (code, name) in [(2, "INTERNAL_ERROR"), (0xbeef, "0xbeef")] {
        for is_connection in [true, false] {
            let peer = Http2Peer::start(move |_, stream| match is_connection {
                true => go_away(code, "because"),
                false => rst_stream(stream, code),
            });
            let error = of(&peer).unwrap_err();
            let words = match is_connection {
                true => format!("it closed the connection with GOAWAY {name} (\"because\"): "),
                false => format!("it ended the call with RST_STREAM {name}: "),
            };
            assert!(error.contains(&words) && error.contains(&peer.address), "{error}");
            assert_eq!(peer.requests(), 1, "{name}");
        }
    }
}

#[test]
fn a_request_whose_answer_has_begun_is_never_sent_again() {
    for code in [0, 7, 11] {
        let peer =
            Http2Peer::start(move |_, stream| [begun(stream), rst_stream(stream, code)].concat());
        let error = of(&peer).unwrap_err();
        assert!(error.contains("after 1 token: "), "{error}");
        assert_eq!(peer.requests(), 1);
    }
}
