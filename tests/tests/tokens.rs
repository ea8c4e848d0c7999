//! Token latencies: official LoadGen receives every first token, and no other message as a first
//! token.

use std::time::Duration;

use e2e::{
    Behaviour, FakeEngine, FakeNode, Folder, LoadGen, Outcome, SutNode, assert_refused,
    fake_engine::MODEL,
    fake_node::{Reply, output_message},
    process::{loadgen_node, transport},
    slow_reader::SlowReader,
};
use netdiv_contract::v1::{DescribeResponse, InferResponse, Part, Status, Tokens};
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
        .data("chat", "synthetic-ids:200x4-64")
        .args(&["--mode", mode])
        .short(1500, 500)
        .set("min_query_count=700")
        .patient()
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
fn the_node_that_costs_a_bound_or_the_end_is_named() {
    let node = |name, ttft| {
        let pace = ["--engine", "tokens", "--tokens-ttft", ttft, "--tokens-output", "2-3"];
        SutNode::start(name, &[&pace[..], &["--max-batch", "256"]].concat())
    };
    let (fast, slow) = (node("fast", "5ms"), node("slow", "600ms"));
    for (scenario, code, costs) in [
        ("server", 1, "of the samples later than a bound for tokens, 50 % of all"),
        ("offline", 0, "alone for the last "),
    ] {
        let outcome = LoadGen::new(&[&fast.address, &slow.address], scenario)
            .data("chat", "synthetic-ids:200x4-64")
            .args(&["--policy", "round-robin"])
            .short(0, 200)
            .patient()
            .set("min_query_count=200")
            .set("server_ttft_latency=300000000")
            .run()
            .expect(code);
        let report = outcome.path("");
        loadgen_node(&["report", &report.display().to_string()]).expect_text(0, "report.html");
        for text in [&outcome.stdout, &outcome.read("report.html")] {
            assert!(text.contains("slow answered ") && text.contains(costs), "{costs}: {text}");
        }
        let result = outcome.result();
        let slow = &result["nodes"][1];
        let late = if scenario == "server" { &slow["answered"] } else { &Value::Null };
        assert_eq!(&slow["late"], late, "{result:#}");
        assert_eq!(slow["idle_at_end_seconds"], 0.0, "{result:#}");
    }
}

#[test]
fn the_outputs_are_the_same_in_every_scenario_and_begin_with_their_first_tokens() {
    let node = speaker("a", &["--tokens-output", "1-9", "--response-encoding", "lz4"]);
    let mut outputs: Vec<Vec<(u64, String)>> = Vec::new();
    for scenario in ["offline", "server", "single-stream"] {
        let run = run(&[&node.address], scenario, "accuracy").args(&["--checksums"]).run();
        // One token is too few for LoadGen, which logs an error for each.
        let outcome = run.expect(1);
        let named = "answers of one token (first samples: ";
        assert_eq!(outcome.stdout.matches(named).count(), 1, "{}", outcome.stdout);
        assert!(!outcome.stdout.contains("greater than 1"), "{}", outcome.stdout);
        let entries = outcome.accuracy_log();
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
        .args(&["--in-process", &file, "--benchmark", "chat"])
        .accuracy()
        .args(&["--dataset", "synthetic-ids:200x4-64"])
        .set("use_token_latencies=true")
        .set("server_target_qps=500")
        .run()
        .expect(0);
    let outputs = |outcome: &Outcome| {
        let output =
            |e: &Value| (e["qsl_idx"].as_u64(), e["data"].clone(), e["token_data"].clone());
        let mut outputs: Vec<_> = outcome.accuracy_log().iter().map(output).collect();
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
            .data("chat", "synthetic-ids:20x4")
            .set("use_token_latencies=true")
            .run()
            .expect_refusal(
                "node echo runs the engine echo, whose responses are not made of tokens",
            );
    }
    let node = speaker("a", &["--tokens-vocabulary", "16"]);
    let liar = liar(|_, _| Vec::new());
    run(&[&liar.address, &node.address], "server", "accuracy").run().expect_refusal(
        ", but the ids of node a go from 0 to 15: take ids of its model's tokenizer",
    );
    assert!(liar.seen(|seen| seen.requests.is_empty()));
    for (engine, output, words) in [
        ("tokens", "9-3", "MINIMUM-MAXIMUM"),
        ("echo", "9", "--tokens-output belongs to the engine tokens"),
    ] {
        let started = SutNode::try_start("a", &["--engine", engine, "--tokens-output", output]);
        assert_refused(started, words);
    }
}

/// Starts a node that claims to send tokens, and replies with this function.
fn liar(reply: Reply) -> FakeNode {
    announcer(DescribeResponse::default(), reply)
}

/// Starts a node that claims to send tokens with the vocabulary, limit and end tokens of
/// `announced`, and replies with this function.
fn announcer(announced: DescribeResponse, reply: Reply) -> FakeNode {
    let DescribeResponse { vocabulary, max_output_tokens, end_tokens, .. } = announced;
    let liar = Behaviour::of_tokens("liar", reply);
    let description =
        DescribeResponse { vocabulary, max_output_tokens, end_tokens, ..liar.description };
    FakeNode::start(Behaviour { description, ..liar })
}

#[test]
fn a_node_that_contradicts_itself_fails_the_run() {
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
fn an_output_that_breaks_an_announcement_fails_the_run() {
    let announced = || DescribeResponse {
        vocabulary: 32_000,
        max_output_tokens: 3,
        end_tokens: vec![2, 9],
        ..DescribeResponse::default()
    };
    let cases: [(&str, Reply); 4] = [
        ("it has 4 tokens, and the maximum is 3", |_, r| {
            vec![output_message(&r, Part::Whole, &[5, 6, 7, 2])]
        }),
        ("its token 1 is 32000, and ids go from 0 to 31999", |_, r| {
            vec![output_message(&r, Part::Whole, &[5, 32_000, 2])]
        }),
        ("it goes on after its token 0, 9, one of end_tokens", |_, r| {
            vec![output_message(&r, Part::Whole, &[9, 5, 2])]
        }),
        ("it ends after 2 tokens without one of end_tokens", |_, r| {
            vec![output_message(&r, Part::Whole, &[5, 6])]
        }),
    ];
    for (words, reply) in cases {
        let node = announcer(announced(), reply);
        let reason = format!(
            "node liar sent an output that contradicts its description or the limit of the run: {words}"
        );
        run(&[&node.address], "offline", "accuracy").run().expect_failure(&reason);
    }
    let node = announcer(announced(), |_, r| {
        vec![output_message(&r, Part::First, &[5]), output_message(&r, Part::Whole, &[5, 6])]
    });
    run(&[&node.address], "server", "accuracy").run().expect_failure("without one of end_tokens");
    // Without token latencies, LoadGen counts no tokens.
    let uncounted = |reply: Reply| {
        let node = announcer(announced(), reply);
        let args =
            ["--benchmark", "chat", "--dataset", "synthetic-ids:200x4", "--mode", "accuracy"];
        LoadGen::new(&[&node.address], "offline").args(&args).run()
    };
    uncounted(cases[3].1).expect_failure(cases[3].0);
    let good = uncounted(|before, r| {
        let ids = [&[5, 6, 7][..], &[5, 9], &[2]][before % 3];
        vec![output_message(&r, Part::Whole, ids)]
    });
    good.expect(0);
}

#[test]
fn impossible_figures_of_a_node_are_counted_and_in_no_table() {
    let node = liar(|_, r| {
        let whole = output_message(&r, Part::Whole, &[5, 6]);
        vec![InferResponse {
            queue_ns: u64::MAX,
            compute_ns: u64::MAX,
            first_token_ns: u64::MAX,
            cached_tokens: 1000,
            ..whole
        }]
    });
    let outcome = run(&[&node.address], "offline", "accuracy").run().expect(0);
    assert!(
        outcome.stdout.contains("node liar sent 200 responses with impossible figures"),
        "{}",
        outcome.stdout
    );
    let result = outcome.result();
    let node = &result["nodes"][0];
    assert_eq!(node["impossible_responses"], 200, "{node:#}");
    let mean = |times: &Value| times["mean"].as_f64().expect("a number");
    let longest = mean(&node["latency_ns"]) * 1.1;
    for times in [
        &node["stages_ns"]["sut_queue"],
        &node["stages_ns"]["compute"],
        &node["tokens"]["prefill_ns"],
    ] {
        assert!(mean(times) <= longest, "{node:#}");
    }
    // Each prompt has 4 to 64 tokens.
    let cached = node["cached_prompt_tokens"].as_u64().expect("a count");
    assert!((200 * 4..=200 * 64).contains(&cached), "{node:#}");
    assert_eq!(result["prompt_tokens"]["mean"].as_f64(), Some(cached as f64 / 200.0), "{result:#}");
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
    run(&[&node.address], "server", "accuracy").run().expect_refusal(
        "tokens, but node a accepts at most 20: take shorter prompts, or raise max_input_tokens of its model or its \
         --max-in-flight-tokens",
    );
    // One after the other, they fit.
    LoadGen::new(&[&node.address], "offline")
        .data("chat", "synthetic-ids:200x4-20")
        .accuracy()
        .set("use_token_latencies=true")
        .run()
        .expect(0);
    let room = ["--max-in-flight-tokens", "50"];
    for (engine, option, words) in [
        (&pace[..], room, "--max-in-flight-tokens 50: must be from 51"),
        (&["--engine", "echo"], room, "models whose outputs are tokens"),
        (&pace, ["--batch-timeout", "50us"], "--batch-timeout belongs to the engine onnx"),
    ] {
        assert_refused(SutNode::try_start("a", &[engine, &option].concat()), words);
    }
}

#[test]
fn a_node_says_where_its_serving_engine_is() {
    let engine = FakeEngine::start(None);
    let folder = Folder::create();
    let model = folder.write("tiny.toml", MODEL);
    let node =
        SutNode::start("a", &["--engine", "openai", "--url", &engine.url, "--model", &model]);
    let outcome = run(&[&node.address], "server", "accuracy").run().expect(0);
    let address = engine.url.strip_prefix("http://").expect("its scheme");
    let expected = json!([{ "address": address, "here": true, "interface": "lo" }]);
    let result = outcome.result();
    assert_eq!(result["evidence"]["nodes"]["a"]["serving_engines"], expected, "{result:#}");
}
