//! The language model of the demo: a real decoder behind official LoadGen, with and without a
//! network.

use std::{fs, path::Path, sync::mpsc};

use e2e::{Folder, LoadGen, Outcome, SutNode, assert_refused};
use netdiv_contract::{
    layout::DataType,
    tokens,
    v1::{InferResponse, Part, Tokens},
};
use netdiv_dataset::{Sample, Tensor, write_ids};
use netdiv_node_common::process::parse_keys;
use serde_json::Value;
use sut_node::{Args, InProcess};

/// End token of an output, as LoadGen logs it.
const END: &str = "0C000000";

/// Starts a node with the embedded model.
fn sorter(name: &str) -> SutNode {
    SutNode::start(name, &["--engine", "decoder", "--model", "sorting", "--threads", "1"])
}

/// Creates a run with the benchmark's own settings, but with bounds that any machine meets.
fn run(addresses: &[&str], scenario: &str, mode: &str) -> LoadGen {
    patient(LoadGen::new(addresses, scenario).args(&["--mode", mode]))
}

fn patient(run: LoadGen) -> LoadGen {
    run.args(&["--benchmark", "sorting"]).set("server_target_qps=400").patient()
}

/// Returns the outputs of an accuracy run, in the data set's order.
fn outputs(outcome: &Outcome) -> Vec<(u64, String)> {
    let output = |e: &Value| {
        (e["qsl_idx"].as_u64().expect("a place"), e["data"].as_str().expect("hex").into())
    };
    let mut outputs: Vec<_> = outcome.accuracy_log().iter().map(output).collect();
    outputs.sort();
    outputs
}

fn assert_all_right(outcome: &Outcome) {
    let result = outcome.result();
    assert_eq!(result["verdict"], "COMPLETE", "{result:#}");
    let accuracy = &result["accuracy"];
    assert_eq!(accuracy["metric"]["name"], "exact match");
    assert_eq!((&accuracy["correct"], &accuracy["total"]), (&500.into(), &500.into()));
    assert!(outcome.stdout.contains("100.00 % exact match (500 of 500)"), "{}", outcome.stdout);
}

#[test]
fn outputs_are_the_same_over_the_network_in_one_process_and_in_every_scenario() {
    let alone = LoadGen::in_one_process("offline");
    let file =
        alone.file("node.toml", "name = 'a'\nengine = 'decoder'\nmodel = 'sorting'\nthreads = 1\n");
    let alone = patient(alone).args(&["--in-process", &file]).accuracy().run().expect(0);
    assert_all_right(&alone);
    let wanted = outputs(&alone);
    assert_eq!(wanted.len(), 500);
    let (a, b) = (sorter("a"), sorter("b"));
    for scenario in ["offline", "server", "single-stream"] {
        let run = run(&[&a.address, &b.address], scenario, "accuracy").args(&["--checksums"]);
        let outcome = run.run().expect(0);
        assert_all_right(&outcome);
        assert_eq!(outputs(&outcome), wanted, "{scenario}");
        // In Offline a node gets samples while it has time, so it may get none.
        let nodes = outcome.result()["nodes"].clone();
        for node in nodes.as_array().expect("a list").iter().filter(|_| scenario != "offline") {
            assert!(node["answered"].as_u64() > Some(0), "both have a part: {node:#}");
        }
    }
}

#[test]
fn loadgen_judges_first_and_further_tokens_by_the_benchmarks_own_settings() {
    let (a, b) = (sorter("a"), sorter("b"));
    let addresses = [&a.address[..], &b.address];
    let outcome = run(&addresses, "server", "performance")
        .set("min_duration_ms=1500")
        .args(&["--digests"])
        .run()
        .expect(0);
    let result = outcome.result();
    assert_eq!(result["verdict"], "VALID", "{result:#}");
    assert_eq!(result["dataset"], "sorting");
    assert_eq!(result["test_settings"]["use_token_latencies"], "true");
    assert_eq!(result["test_settings"]["min_query_count"], "700");
    assert_eq!(result["digests"]["responses"]["differences"], 0);
    for node in result["nodes"].as_array().expect("a list") {
        assert_eq!((&node["engine"], &node["model"]), (&"decoder".into(), &"sorting".into()));
        let per_answer = node["tokens"]["per_answer"]["mean"].as_f64().expect("a number");
        // Three to twelve digits, and the end.
        assert!((4.0..=13.0).contains(&per_answer), "{node:#}");
        // The longest output has twelve digits and the end token, which ends it before the limit
        // does.
        assert_eq!(node["tokens"]["finished_by_length"], 0, "{node:#}");
    }
    for words in [
        "first token (TTFT)",
        "each further (TPOT)",
        "goodput",
        "tokens per prompt",
        "finish reasons",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    let outcome = run(&addresses, "offline", "performance")
        .set("offline_expected_qps=200")
        .set("min_duration_ms=1")
        .run()
        .expect(0);
    assert_eq!(outcome.result()["verdict"], "VALID");
    assert_eq!(outcome.result()["token_metric"]["unit"], "tokens/s");
}

#[test]
fn outputs_that_a_limit_cuts_off_are_counted() {
    let folder = Folder::create();
    let described = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/sorting/sorting.toml");
    let text = fs::read_to_string(&described).expect("a description");
    let limited = text.replace("max_tokens = 13", "max_tokens = 6");
    assert_ne!(text, limited);
    let model = folder.write("sorting.toml", limited);
    fs::copy(described.with_extension("onnx"), folder.path("sorting.onnx")).expect("a model");
    let args = ["--engine", "decoder", "--model", &model, "--threads", "1"];
    let node = SutNode::start("a", &args);
    let outcome = run(&[&node.address], "offline", "accuracy").run().expect(0);
    let tokens = &outcome.result()["nodes"][0]["tokens"];
    // Six tokens are up to five digits and the end token, or six digits that the limit cuts off.
    let is_cut = |(_, output): &&(u64, String)| output.len() == 6 * 8 && !output.ends_with(END);
    let cut = outputs(&outcome).iter().filter(is_cut).count();
    assert!((1..500).contains(&cut), "{cut}");
    assert_eq!(tokens["finished_by_length"], cut, "{tokens:#}");
    let reasons = format!("stop {}, length {cut}", 500 - cut);
    assert!(outcome.stdout.contains(&reasons), "{}", outcome.stdout);
}

#[test]
fn a_user_conf_takes_the_place_of_the_benchmarks_settings() {
    let node = sorter("a");
    let run = LoadGen::new(&[&node.address], "offline");
    let conf = run.file("user.conf", "*.Offline.target_qps = 50\n*.Offline.min_duration = 2\n");
    let run = run.args(&["--benchmark", "sorting", "--user-conf", &conf]);
    let outcome = run.set("min_query_count=500").run().expect(0);
    let settings = &outcome.result()["test_settings"];
    assert_eq!(settings["use_token_latencies"], "false", "{settings:#}");
    assert_eq!(settings["min_duration_ms"], "2");
}

#[test]
fn a_run_with_prompts_that_the_model_does_not_take_is_refused_by_name() {
    let node = sorter("a");
    let long = vec![1; 15];
    for (prompt, words) in [
        (long, "sample 1 has 15 tokens, but node a accepts at most 14"),
        (vec![10, 1, 16, 11], "sample 1 has the id 16, but the ids of node a go from 0 to 15"),
    ] {
        let run = run(&[&node.address], "server", "accuracy");
        let mut prompts = Vec::new();
        write_ids(&mut prompts, &[vec![10, 2, 1, 0, 11], prompt]).expect("writes to memory");
        let file = run.file("prompts.ids", prompts);
        run.args(&["--dataset", &file]).run().expect_refusal(words);
    }
    assert_all_right(&run(&[&node.address], "offline", "accuracy").run().expect(0));
}

#[test]
fn a_model_that_is_not_as_described_is_no_node() {
    let folder = Folder::create();
    let text = "name = 'own'\nvocabulary = 16\nmax_input_tokens = 14\nmax_tokens = 13\n";
    let description = folder.write("own.toml", text);
    let start = || SutNode::try_start("a", &["--engine", "decoder", "--model", &description]);
    let log = start().expect_err("no node");
    assert!(log.contains("cannot read the model") && log.contains("own.onnx"), "{log}");
    folder.write("own.onnx", "no model");
    assert_refused(start(), "own.onnx cannot be loaded as an ONNX model");
    let started = SutNode::try_start("a", &["--engine", "decoder", "--postprocess", "none"]);
    assert_refused(started, "--postprocess belongs to the engine onnx");
}

/// Returns all messages of the response to one prompt.
fn messages(wanted: Tokens, prompt: &[i32]) -> Vec<InferResponse> {
    let keys = ["--engine", "decoder", "--model", "sorting", "--threads", "1"];
    let args: Args = parse_keys(keys).expect("keys");
    let (answered, answers) = mpsc::sync_channel(100);
    let node = InProcess::start(&args.resolve().expect("they fit"), wanted, move |replies| {
        replies.into_iter().for_each(|reply| answered.send(reply).expect("the test listens"));
    });
    let node = node.expect("the embedded model loads");
    let (shape, data) = (vec![prompt.len()], tokens::to_bytes(prompt));
    let sample = Sample::Tensors(vec![Tensor { data_type: DataType::Int32, shape, data }]);
    let payload = sample.into_payload(&node.model().input);
    node.push([(7, payload)].into_iter()).expect("it fits");
    let mut messages = Vec::new();
    while messages.last().is_none_or(|last: &InferResponse| last.part() != Part::Whole) {
        messages.push(answers.recv().expect("an answer"));
    }
    messages
}

#[test]
fn tokens_are_given_one_by_one() {
    let prompt = [10, 9, 0, 4, 4, 11];
    let said = |wanted| -> Vec<(Part, Vec<i32>)> {
        let said = |m: &InferResponse| (m.part(), tokens::ids(&m.payload).collect());
        messages(wanted, &prompt).iter().map(said).collect()
    };
    let whole = (Part::Whole, vec![0, 4, 4, 9, 12]);
    assert_eq!(said(Tokens::Whole), std::slice::from_ref(&whole));
    assert_eq!(said(Tokens::First), [(Part::First, vec![0]), whole.clone()]);
    let every = said(Tokens::Every);
    assert_eq!(every[0], (Part::First, vec![0]));
    assert_eq!(every[1..5].iter().map(|(_, ids)| ids[0]).collect::<Vec<_>>(), [4, 4, 9, 12]);
    assert!(every[1..5].iter().all(|(part, ids)| *part == Part::More && ids.len() == 1));
    assert_eq!(every[5..], [whole]);
}
