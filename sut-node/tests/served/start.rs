//! Facts that a node detects about its serving engines before it is ready.

use std::{fs, sync::mpsc, time::Duration};

use netdiv_contract::{
    layout::{DataType, TensorView, pack},
    tokens,
    v1::{Part, Tokens},
};
use netdiv_node_common::words::{EngineFacts, PrefixCaching};

use super::fake::{FakeServer, Step, events, refusal, settings};
use crate::{
    InProcess,
    engine::{
        remote::testing::tiny,
        served::{
            load::wait_for_all,
            probe::probe,
            settings::{
                Dialect::{self, Llamacpp, Sglang, Vllm},
                ServedConfig,
            },
        },
    },
    settings::args::Args,
    try_engine::try_engine,
};

/// Returns a response of two tokens to a prompt of 512 tokens, in the form of a dialect. It reports
/// that `cached` tokens of the prompt were not computed.
fn answer(dialect: Dialect, cached: Option<usize>) -> Vec<Step> {
    let cached = cached.map_or("null".into(), |cached| cached.to_string());
    match dialect {
        Sglang => events(&[
            &format!(
                r#"{{"output_ids":[7,8],"meta_info":{{"prompt_tokens":512,"completion_tokens":2,"cached_tokens":{cached},
                "finish_reason":{{"type":"length","length":2}}}}}}"#
            )
            .replace('\n', " "),
            "[DONE]",
        ]),
        Llamacpp => events(&[&format!(
            r#"{{"tokens":[7,8],"stop":true,"stop_type":"limit","tokens_predicted":2,"tokens_evaluated":512,"timings":{{"cache_n":{cached}}}}}"#
        )]),
        _ => events(&[
            r#"{"choices":[{"index":0,"token_ids":[7,8],"finish_reason":"length"}],"system_fingerprint":"vllm-1"}"#,
            &format!(
                r#"{{"choices":[],"usage":{{"prompt_tokens":512,"completion_tokens":2,"prompt_tokens_details":{{"cached_tokens":{cached}}}}}}}"#
            ),
            "[DONE]",
        ]),
    }
}

#[test]
fn a_server_that_is_still_loading_is_waited_for() {
    let server = FakeServer::start(|number, _| match number {
        0 | 1 => refusal("503 Service Unavailable", "", "{\"error\": \"Loading model\"}"),
        _ => refusal("404 Not Found", "", "no such path"),
    });
    let mut settings = of(&[&server.url], Llamacpp);
    let wait = |settings: &ServedConfig| wait_for_all(settings).map_err(|error| error.to_string());
    let error = wait(&settings).unwrap_err();
    let words = ["/health answers 503: Loading model", "give --engine-start-timeout 10m"];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
    settings.servers.start_timeout = Duration::from_secs(20);
    wait(&settings).unwrap();
    assert_eq!(server.requests().len(), 3);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    settings.servers.urls = vec![format!("http://{gone}").parse().unwrap()];
    settings.servers.start_timeout = Duration::from_millis(600);
    let error = wait(&settings).unwrap_err();
    let words =
        ["no answer: ", "Connection refused", "not ready within --engine-start-timeout, 0.6 s"];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

fn of(urls: &[&str], dialect: Dialect) -> ServedConfig {
    settings(urls, dialect, tiny(64, &[2]))
}

#[test]
fn prefix_caching_is_found_out() {
    use PrefixCaching::{CannotTell, Off, On};
    let metrics = |value: &str| {
        format!(
            "vllm:cache_config_info{{block_size=\"16\",enable_prefix_caching=\"{value}\"}} 1.0\n"
        )
    };
    for (dialect, second, page, found, name) in [
        (Vllm, None, metrics("False"), Off, "vllm-1"),
        (Vllm, None, metrics("True"), On, "vllm-1"),
        (Vllm, None, "other 1\n".into(), CannotTell, "vllm-1"),
        (Vllm, Some(496), metrics("False"), On, "vllm-1"),
        (Vllm, Some(0), String::new(), Off, "vllm-1"),
        (Sglang, Some(0), String::new(), Off, "SGLang"),
        (Sglang, Some(511), String::new(), On, "SGLang"),
        (Sglang, None, String::new(), CannotTell, "SGLang"),
        (Llamacpp, Some(0), String::new(), Off, "llama.cpp"),
    ] {
        let server = FakeServer::start(move |number, request| {
            if request.starts_with("GET /metrics") {
                return refusal("200 OK", "content-type: text/plain\r\n", &page);
            }
            answer(dialect, if number == 0 { second.map(|_| 0) } else { second })
        });
        let outcome = probe(&of(&[&server.url], dialect)).unwrap();
        assert_eq!((outcome.prefix_caching, &outcome.framework[..]), (found, name), "{dialect:?}");
        let requests = server.requests();
        assert_eq!(requests[0], requests[1], "the same prompt twice");
    }
}

#[test]
fn the_least_room_for_a_prompt_and_its_output_is_found_out() {
    let server = |dialect, page: &'static str| {
        FakeServer::start(move |_, request| {
            match request.starts_with("GET /v1/models") || request.starts_with("GET /props") {
                true => refusal("200 OK", "content-type: application/json\r\n", page),
                false => answer(dialect, Some(0)),
            }
        })
    };
    let models =
        |room| format!(r#"{{"object":"list","data":[{{"id":"tiny","max_model_len":{room}}}]}}"#);
    let (large, small) = (models("2048").leak(), models("512").leak());
    for (dialect, pages, want) in [
        (Vllm, [&*large, &*small], Some(512)),
        (Sglang, [&*large, "{}"], Some(2048)),
        (Llamacpp, [r#"{"default_generation_settings":{"n_ctx":640}}"#, "nothing"], Some(640)),
        (Vllm, [r#"{"data":[{"max_model_len":null}]}"#, r#"{"data":[]}"#], None),
    ] {
        let servers = pages.map(|page| server(dialect, page));
        let urls = servers.each_ref().map(|server| &server.url[..]);
        assert_eq!(probe(&of(&urls, dialect)).unwrap().context_tokens, want, "{pages:?}");
    }
}

#[test]
fn every_server_is_asked_and_the_worst_one_counts() {
    let (good, bad) =
        (FakeServer::always(answer(Sglang, Some(0))), FakeServer::always(answer(Sglang, Some(9))));
    let found = probe(&of(&[&good.url, &bad.url], Sglang)).unwrap();
    assert_eq!(found.prefix_caching, PrefixCaching::On);
    let without = FakeServer::always(events(&[r#"{"text":"hello","meta_info":{}}"#, "[DONE]"]));
    let error = probe(&of(&[&good.url, &without.url], Sglang)).unwrap_err().to_string();
    let words = format!("{}: after 0 tokens: the response has no token ids", without.url);
    assert!(error.contains(&words), "{error}");
}

#[test]
fn a_node_answers_through_a_serving_engine() {
    let server = FakeServer::start(|_, request| {
        let most = if request.contains("\"max_tokens\":2,") { 2 } else { 3 };
        let ids = &["7,8", "7,8,9"][most - 2];
        let first = format!(
            r#"{{"choices":[{{"index":0,"token_ids":[{ids}],"finish_reason":"length"}}]}}"#
        );
        let usage =
            format!(r#"{{"choices":[],"usage":{{"prompt_tokens":4,"completion_tokens":{most}}}}}"#);
        if request.starts_with("GET") {
            refusal("200 OK", "", "enable_prefix_caching=\"False\"")
        } else {
            events(&[&first, &usage, "[DONE]"])
        }
    });
    let found = answers_through("openai", &server.url);
    assert_eq!(
        found,
        Some(EngineFacts { prefix_caching: PrefixCaching::Off, context_tokens: None })
    );
    // Two tries, the metrics and the models: of the check, and of the node, which then sends a sample.
    assert_eq!(server.requests().len(), 9);
}

/// Checks that a node with this engine answers a prompt of four tokens with the ids 7 to 9, and
/// sends no invalid prompt. Returns the facts that the engine detected.
pub(super) fn answers_through(engine: &str, url: &str) -> Option<EngineFacts> {
    let folder = tempfile::tempdir().unwrap();
    let (model, token) = (folder.path().join("tiny.toml"), folder.path().join("token"));
    let served = "name = 'tiny'\nvocabulary = 100\nmax_input_tokens = 4\nmax_tokens = 3\n";
    fs::write(&model, served).unwrap();
    fs::write(&token, "a-secret-that-is-long-enough").unwrap();
    let text = format!(
        "name = 'a'\nengine = '{engine}'\nurl = ['{url}']\nmodel = '{}'\nurl_token_file = '{}'\n",
        model.display(),
        token.display()
    );
    let args = Args::of(&text);
    let config = args.resolve().unwrap();
    let announced = try_engine(&config).unwrap();
    let start = format!("engine: {engine}\nservers: {url}\nmodel: tiny\nsha256: not stated in");
    assert!(announced.starts_with(&start), "{announced}");
    assert!(announced.contains("\nprefix_caching: "), "{announced}");
    let (sender, replies) = mpsc::channel();
    let answered = move |messages| drop(sender.send(messages));
    let node = InProcess::start(&config, Tokens::First, answered).unwrap();
    assert_eq!(node.model().engine, engine);
    let prompt = |ids: &[i32]| {
        let data = tokens::to_bytes(ids);
        pack(&[TensorView { data_type: DataType::Int32, shape: vec![ids.len()], data: &data }])
    };
    node.push([(5, prompt(&[1, 2, 3, 4]))].into_iter()).unwrap();
    for (part, ids) in [(Part::First, &[7][..]), (Part::Whole, &[7, 8, 9])] {
        let reply = replies.recv_timeout(Duration::from_secs(10)).unwrap().remove(0);
        let got: Vec<_> = tokens::ids(&reply.payload).collect();
        assert_eq!((reply.id, reply.part(), &got[..]), (5, part, ids), "{}", reply.error);
    }
    for (ids, words) in [(&[1, 2, 3, 4, 5][..], "the model takes 4"), (&[100], "from 0 to 99")] {
        let error = node.push([(6, prompt(ids))].into_iter()).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    node.model().found.clone()
}
