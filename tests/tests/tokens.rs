//! Token latencies: official LoadGen receives every first token, and no other message as a first
//! token.

use std::time::Duration;

use e2e::{
    Behaviour, FakeEngine, FakeNode, LoadGen, Outcome, SutNode, fake_engine::MODEL,
    process::transport, slow_reader::SlowReader,
};
use netdiv_contract::{
    layout::{DataType, InputLayout, TensorSpec},
    tokens,
    v1::{DescribeResponse, InferRequest, InferResponse, Part, Status, Tokens},
};
use serde_json::{Value, json};

/// 5 ms until the first token and 100 us for each further token.
const PACE: [&str; 6] = ["--engine", "tokens", "--tokens-ttft", "5ms", "--tokens-tpot", "100us"];

/// Starts a node with the engine `tokens`.
fn speaker(name: &str, more: &[&str]) -> SutNode {
    SutNode::start(name, &[&PACE[..], more].concat())
}

/// Creates a run in which LoadGen measures tokens, with bounds that any machine meets.
fn run(addresses: &[&str], scenario: &str, mode: &str) -> LoadGen {
    LoadGen::new(addresses, scenario)
        .args(&["--benchmark", "chat", "--dataset", "synthetic-ids:200x4-64", "--mode", mode])
        .short(1500, 500)
        .args(&["--setting", "min_query_count=700", "--setting", "use_token_latencies=true"])
        .args(&["--setting", "server_ttft_latency=20000000000"])
        .args(&["--setting", "server_tpot_latency=20000000000"])
}

/// Returns the entries of LoadGen's accuracy log.
fn accuracy_log(outcome: &Outcome) -> Vec<Value> {
    serde_json::from_str(&outcome.read("mlperf_log_accuracy.json")).expect("a list")
}

/// Returns a number from LoadGen's detail log.
fn logged(outcome: &Outcome, key: &str) -> f64 {
    let log = outcome.read("mlperf_log_detail.txt");
    let line = log.lines().find(|line| line.contains(&format!("\"{key}\"")));
    let line = line.unwrap_or_else(|| panic!("no {key} in {log}"));
    let json = line.strip_prefix(":::MLLOG ").expect("an entry");
    serde_json::from_str::<Value>(json).expect("JSON")["value"].as_f64().expect("a number")
}

#[test]
fn loadgen_measures_first_and_further_tokens_of_two_nodes() {
    let lengths = ["--tokens-output", "20-40"];
    let (a, b) = (speaker("a", &lengths), speaker("b", &lengths));
    let addresses = [&a.address[..], &b.address];
    let outcome = run(&addresses, "server", "performance").args(&["--digests"]).run().expect(0);
    let result = outcome.result();
    assert_eq!(result["verdict"], "VALID", "{result:#}");
    assert!(logged(&outcome, "result_first_token_min_latency_ns") >= 5e6);
    // At least twenty tokens.
    assert!(logged(&outcome, "result_min_latency_ns") >= 5e6 + 19.0 * 1e5);
    assert!(logged(&outcome, "result_time_to_output_token_max") > 0.0);
    assert_eq!(
        result["loadgen_latency_ns"]["first_token_99.00"].as_f64(),
        Some(logged(&outcome, "result_first_token_99.00_percentile_latency_ns"))
    );
    assert_eq!(result["token_metric"]["unit"], "tokens/s");
    for node in result["nodes"].as_array().expect("a list") {
        let (tokens, answered) = (&node["tokens"], node["answered"].as_u64().expect("a count"));
        let total = tokens["total"].as_u64().expect("a count");
        assert!((20 * answered..=40 * answered).contains(&total) && answered > 0, "{node:#}");
        assert_eq!(tokens["within_bounds"].as_u64(), Some(answered));
        assert!(tokens["prefill_ns"]["p50"].as_u64() >= Some(5_000_000), "{node:#}");
        assert!(tokens["first_ns"]["p50"].as_u64() >= tokens["prefill_ns"]["p50"].as_u64());
    }
    // The first tokens are compared as well.
    let completed = result["samples"]["completed"].as_u64().expect("a count");
    assert_eq!(result["digests"]["responses"]["differences"], 0);
    assert_eq!(result["digests"]["responses"]["received"].as_u64(), Some(2 * completed));
    // The closing table shows the run's bounds, for both latencies.
    assert_eq!(outcome.stdout.matches("; the bound for p99 is 20000.000\n").count(), 2);
    for words in ["first token (TTFT)", "each further (TPOT)", "goodput", "prefill"] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
}

#[test]
fn the_outputs_are_the_same_in_every_scenario_and_begin_with_their_first_tokens() {
    let node = speaker("a", &["--tokens-output", "1-9", "--response-encoding", "lz4"]);
    let mut outputs: Vec<Vec<(u64, String)>> = Vec::new();
    for scenario in ["offline", "server", "single-stream"] {
        let run = run(&[&node.address], scenario, "accuracy").args(&["--checksums"]).run();
        // One token is too few for LoadGen, which logs an error.
        let outcome = run.expect(1);
        assert!(outcome.stdout.contains("greater than 1"), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("answers have one token"), "{}", outcome.stdout);
        let entries = accuracy_log(&outcome);
        assert_eq!(entries.len(), 200);
        for entry in &entries {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let (data, first) = (text("data"), text("token_data"));
            assert!(data.starts_with(&first), "{entry}");
            assert_eq!(first.len(), if scenario == "offline" { 0 } else { 8 }, "one id: {entry}");
        }
        let output = |e: &Value| {
            (e["qsl_idx"].as_u64().unwrap_or(0), e["data"].as_str().unwrap_or("").into())
        };
        let mut output: Vec<(u64, String)> = entries.iter().map(output).collect();
        output.sort();
        output.dedup();
        outputs.push(output);
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]));
}

#[test]
fn a_run_in_one_process_is_told_the_same() {
    let lengths = ["--tokens-output", "20-40"];
    let node = speaker("a", &lengths);
    let over_network = run(&[&node.address], "server", "accuracy").run().expect(0);
    let settings = "name = 'a'\nengine = 'tokens'\ntokens_ttft = '5ms'\ntokens_tpot = '100us'\n\
                    tokens_output = '20-40'\n";
    let alone = LoadGen::in_one_process("server");
    let file = alone.file("node.toml", settings);
    let alone = alone
        .args(&["--in-process", &file, "--benchmark", "chat", "--mode", "accuracy"])
        .args(&["--dataset", "synthetic-ids:200x4-64", "--setting", "use_token_latencies=true"])
        .args(&["--setting", "server_target_qps=500"])
        .run()
        .expect(0);
    let outputs = |outcome: &Outcome| {
        let output =
            |e: &Value| (e["qsl_idx"].as_u64(), e["data"].clone(), e["token_data"].clone());
        let mut outputs: Vec<_> = accuracy_log(outcome).iter().map(output).collect();
        outputs.sort_by_key(|(index, ..)| *index);
        outputs
    };
    assert_eq!(outputs(&over_network), outputs(&alone));
}

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    let echo = SutNode::echo("echo", &[]);
    for scenario in ["server", "offline"] {
        LoadGen::new(&[&echo.address], scenario)
            .args(&["--benchmark", "chat", "--dataset", "synthetic-ids:20x4"])
            .args(&["--setting", "use_token_latencies=true"])
            .run()
            .expect_refusal(
                "node echo runs the engine echo, whose responses are not made of tokens",
            );
    }
    let node = speaker("a", &["--tokens-vocabulary", "16"]);
    run(&[&node.address], "server", "accuracy").run().expect_failure("ids go from 0 to 15");
    let log = SutNode::try_start("a", &["--engine", "tokens", "--tokens-output", "9-3"]);
    assert!(log.expect_err("no node").contains("MINIMUM-MAXIMUM"));
    let log = SutNode::try_start("a", &["--engine", "echo", "--tokens-output", "9"]);
    assert!(log.expect_err("no node").contains("--tokens-output belongs to the engine tokens"));
}

/// Starts a node that claims to send tokens, and replies with this function.
fn liar(reply: fn(usize, InferRequest) -> Vec<InferResponse>) -> FakeNode {
    let good = Behaviour::good("liar");
    let (name, data_type) = ("input_ids".into(), DataType::Int32 as i32);
    let tensors = vec![TensorSpec { name, data_type, shape: vec![-1] }];
    let input = Some(InputLayout { tensors });
    let description = DescribeResponse { tokens: true, input, ..good.description };
    FakeNode::start(Behaviour { description, reply, ..good })
}

/// Returns a message with tokens of an output.
fn output_message(request: &InferRequest, part: Part, ids: &[i32]) -> InferResponse {
    InferResponse {
        id: request.id,
        part: part as i32,
        token_count: ids.len() as u32,
        payload: tokens::to_bytes(ids),
        ..InferResponse::default()
    }
}

#[test]
fn a_node_that_contradicts_itself_fails_the_run() {
    type Reply = fn(usize, InferRequest) -> Vec<InferResponse>;
    let cases: [(&str, Reply); 10] = [
        ("answered a sample without its first token", |_, r| {
            vec![output_message(&r, Part::Whole, &[5, 6])]
        }),
        ("sent a second first token", |_, r| {
            vec![output_message(&r, Part::First, &[5]), output_message(&r, Part::First, &[5])]
        }),
        ("expected one int32", |_, r| vec![output_message(&r, Part::First, &[5, 6])]),
        ("its first token has 4 bytes and a token_count of 3", |_, r| {
            vec![InferResponse { token_count: 3, ..output_message(&r, Part::First, &[5]) }]
        }),
        ("it begins with the token 7, but its first token was 5", |_, r| {
            vec![output_message(&r, Part::First, &[5]), output_message(&r, Part::Whole, &[7, 6])]
        }),
        ("it has 8 bytes and a token_count of 3", |_, r| {
            let whole =
                InferResponse { token_count: 3, ..output_message(&r, Part::Whole, &[5, 6]) };
            vec![output_message(&r, Part::First, &[5]), whole]
        }),
        ("it has 0 bytes and a token_count of 0", |_, r| {
            vec![output_message(&r, Part::First, &[5]), output_message(&r, Part::Whole, &[])]
        }),
        ("it has 7 bytes and a token_count of 2", |_, r| {
            let whole = output_message(&r, Part::Whole, &[5, 6]);
            let payload = whole.payload.slice(..7);
            vec![output_message(&r, Part::First, &[5]), InferResponse { payload, ..whole }]
        }),
        ("it is the part 9 of an answer", |_, r| {
            vec![InferResponse { part: 9, ..output_message(&r, Part::First, &[5]) }]
        }),
        ("the engine of node liar failed: out of memory", |_, r| {
            let (status, error) = (Status::EngineFailed as i32, "out of memory".into());
            let failed = InferResponse { id: r.id, status, error, ..Default::default() };
            vec![output_message(&r, Part::First, &[5]), failed]
        }),
    ];
    for (words, reply) in cases {
        let node = liar(reply);
        run(&[&node.address], "server", "accuracy").run().expect_failure(words);
    }
}

#[test]
fn an_unexpected_first_token_fails_the_run() {
    let node = liar(|_, r| {
        vec![output_message(&r, Part::First, &[5]), output_message(&r, Part::Whole, &[5, 6])]
    });
    run(&[&node.address], "offline", "accuracy")
        .run()
        .expect_failure("sent a first token that was not requested");
}

#[test]
fn tokens_after_the_whole_output_change_nothing() {
    let node = liar(|_, r| {
        let more = output_message(&r, Part::More, &[6]);
        let (first, whole) =
            (output_message(&r, Part::First, &[5]), output_message(&r, Part::Whole, &[5, 6]));
        vec![first.clone(), more.clone(), whole, first, more]
    });
    let outcome = run(&[&node.address], "server", "accuracy").run().expect(0);
    let result = outcome.result();
    assert_eq!(result["nodes"][0]["unmatched_replies"], 2 * 200, "{result:#}");
    assert!(outcome.stdout.contains("400 replies belonged to no sample"));
}

#[test]
fn a_sample_whose_first_token_was_seen_does_not_go_to_another_node() {
    let first_only = liar(|_, r| vec![output_message(&r, Part::First, &[5])]);
    let good = speaker("good", &[]);
    run(&[&first_only.address, &good.address], "server", "accuracy")
        .args(&["--on-node-loss", "redispatch", "--sample-timeout", "1s"])
        .run()
        .expect_failure("LoadGen has the first token of a sample that node liar has not finished");
    // Before its first token, a sample is reassigned.
    let silent = liar(|_, _| Vec::new());
    let outcome = run(&[&silent.address, &good.address], "server", "accuracy")
        .args(&["--on-node-loss", "redispatch", "--sample-timeout", "1s"])
        .run()
        .expect(0);
    assert!(outcome.stdout.contains("the run went on without it"), "{}", outcome.stdout);
}

const MIB: u64 = 1 << 20;

#[test]
fn a_slow_reader_of_long_outputs_does_not_fill_the_memory() {
    // 40 MB of outputs, of which the node may have begun ten.
    let (prompts, output_tokens, room) = (500, 20_000, 10 * 20_016);
    let limits = ["--max-in-flight-samples", "500", "--max-in-flight-bytes", "1048576"];
    let more = ["--max-in-flight-tokens", &room.to_string(), "--receive-window-bytes", "1048576"];
    let pace = ["--engine", "tokens", "--tokens-output", "20000"];
    let node = SutNode::start("a", &[&pace[..], &limits, &more].concat());
    let idle = node.peak_resident_bytes();
    for tokens in [Tokens::Whole, Tokens::Every] {
        let (hold, pause) = (Duration::from_secs(2), Duration::from_millis(1));
        let transport = transport();
        let reader = SlowReader { transport, prompts, output_tokens, tokens, hold, pause };
        reader.run(&node.address).expect("every output");
    }
    // The bound of docs/RELIABILITY.md: samples, bytes and the window; begun outputs and the
    // stream's owed outputs, both twice, because buffers double as they grow; tokens sent ahead;
    // and the threads' heaps.
    let outputs = 2 * (4 * room + MIB + 4 * room);
    let bound = 2 * prompts * 512 + MIB + MIB + outputs + 2 * MIB + 16 * MIB;
    let grown = node.peak_resident_bytes() - idle;
    assert!(grown <= bound, "{} of {} MiB", grown / MIB, bound / MIB);
}

#[test]
fn a_prompt_that_is_too_long_for_the_nodes_tokens_is_refused_by_name() {
    let pace = ["--engine", "tokens", "--tokens-output", "50"];
    let node = SutNode::start("a", &[&pace[..], &["--max-in-flight-tokens", "70"]].concat());
    run(&[&node.address], "server", "accuracy").run().expect_failure(
        "which with an output of up to 50 is more than the node admits; raise --max-in-flight-tokens from 70 to ",
    );
    // One after the other, they fit.
    LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "chat", "--dataset", "synthetic-ids:200x4-20"])
        .args(&["--mode", "accuracy", "--setting", "use_token_latencies=true"])
        .run()
        .expect(0);
    let args = [&pace[..], &["--max-in-flight-tokens", "50"]].concat();
    let log = SutNode::try_start("a", &args).expect_err("no node");
    assert!(log.contains("--max-in-flight-tokens 50: must be from 51"), "{log}");
    let log = SutNode::try_start("a", &["--engine", "echo", "--max-in-flight-tokens", "50"]);
    assert!(log.expect_err("no node").contains("belongs to the engine tokens, decoder, openai"));
    let log = SutNode::try_start("a", &[&pace[..], &["--batch-timeout", "50us"]].concat());
    assert!(log.expect_err("no node").contains("--batch-timeout belongs to the engine onnx"));
}

#[test]
fn a_node_says_where_its_serving_engine_is() {
    let engine = FakeEngine::start(None);
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("tiny.toml");
    std::fs::write(&model, MODEL).expect("a writable folder");
    let args = ["--engine", "openai", "--url", &engine.url];
    let node =
        SutNode::start("a", &[&args[..], &["--model", &model.display().to_string()]].concat());
    let outcome = run(&[&node.address], "server", "accuracy").run().expect(0);
    let address = engine.url.strip_prefix("http://").expect("its scheme");
    let expected = json!([{ "address": address, "here": true, "interface": "lo" }]);
    let result = outcome.result();
    assert_eq!(result["evidence"]["nodes"]["a"]["serving_engines"], expected, "{result:#}");
}
