//! Language models on the engine torch: two nodes behind official LoadGen, compared id by id with
//! the outputs of transformers (`tests/models/README.md`).

use bytes::Bytes;
use e2e::{LoadGen, Outcome, SutNode, process::model};
use netdiv_contract::layout::InputLayout;

const GREEDY: [&str; 3] = ["tiny-llama", "tiny-llama3.1", "tiny-mixtral"];

fn nodes(name: &str) -> [SutNode; 2] {
    let manifest = model(&format!("{name}.toml"));
    ["a", "b"].map(|node| {
        SutNode::start(node, &["--engine", "torch", "--model", &manifest, "--threads", "1"])
    })
}

/// Creates a run with bounds that any machine meets.
fn patient(nodes: &[SutNode], name: &str, scenario: &str) -> LoadGen {
    run_of("chat", nodes, name, scenario).patient()
}

fn run_of(benchmark: &str, nodes: &[SutNode], name: &str, scenario: &str) -> LoadGen {
    let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
    LoadGen::new(&addresses, scenario).data(benchmark, &model(&format!("{name}-prompts.ids")))
}

/// Asserts that every prompt has one response, equal to the output of transformers.
fn assert_outputs(outcome: &Outcome, name: &str) {
    assert_eq!(outcome.result()["verdict"], "COMPLETE");
    let data = netdiv_dataset::open(&model(&format!("{name}-outputs.ids"))).expect("outputs");
    let wanted =
        |n| -> Bytes { data.read(n).expect("an output").into_payload(&InputLayout::default()) };
    let responses = outcome.responses();
    assert_eq!(responses.len(), data.sample_count(), "each prompt once");
    for (place, response) in responses.iter().enumerate() {
        assert_eq!(response.qsl_idx, place);
        assert_eq!(response.data, wanted(response.qsl_idx), "{name}, prompt {place}");
    }
}

#[test]
fn two_nodes_give_the_ids_that_transformers_gives() {
    for name in GREEDY {
        let nodes = nodes(name);
        for scenario in ["offline", "server"] {
            let run = patient(&nodes, name, scenario).accuracy();
            let outcome = run.set("server_target_qps=200").run().expect(0);
            assert_outputs(&outcome, name);
        }
    }
}

#[test]
fn gptj_searches_with_beams_and_loadgen_takes_its_answers_whole() {
    let nodes = nodes("tiny-gptj");
    // The data set once in Offline, and in Server enough queries for LoadGen to be sure of a p99.
    for (scenario, milliseconds, qps) in [("offline", 1, 200_000), ("server", 2000, 250)] {
        let run = || run_of("gptj-99", &nodes, "tiny-gptj", scenario);
        let outcome = run().accuracy().set("server_target_qps=50").run().expect(0);
        assert_outputs(&outcome, "tiny-gptj");
        assert!(outcome.stdout.contains("language/gpt-j/evaluation.py"), "{}", outcome.stdout);
        // Its own key in mlperf.conf: 20 s for a response in Server, and every sample as often as
        // the others.
        let result = run().short(milliseconds, qps).run().expect(0).result();
        assert_eq!(result["verdict"], "VALID", "{scenario}: {result:#}");
        let settings = &result["test_settings"];
        assert_eq!(settings["sample_concatenate_permutation"], "true", "{settings:#}");
        let latency = &settings["server_target_latency_ns"];
        assert!(scenario == "offline" || latency == "20000000000", "{settings:#}");
        // LoadGen infers tokens from whole responses.
        assert!(result["token_metric"]["value"].as_f64() > Some(0.0), "{result:#}");
    }
}

#[test]
fn loadgen_finds_runs_valid_and_both_nodes_have_a_part() {
    let nodes = nodes("tiny-llama");
    // Enough queries for LoadGen to be sure of a p99, and some 200 samples in Offline, however fast
    // the machine is.
    for (scenario, milliseconds, qps) in [("server", 2000, 500), ("offline", 1, 200_000)] {
        let run = patient(&nodes, "tiny-llama", scenario).short(milliseconds, qps);
        let outcome = run.args(&["--digests"]).run().expect(0);
        let result = outcome.result();
        assert_eq!(result["verdict"], "VALID", "{scenario}: {result:#}");
        assert_eq!(result["digests"]["responses"]["differences"], 0);
        let nodes = result["nodes"].as_array().expect("a list");
        // In Offline a node gets samples while it has time, so it may get none.
        for node in nodes.iter().filter(|node| scenario == "server" || node["answered"] != 0) {
            assert_eq!((&node["engine"], &node["model"]), (&"torch".into(), &"tiny-llama".into()));
            let per_answer = node["tokens"]["per_answer"]["mean"].as_f64().expect("a number");
            assert!((4.0..=40.0).contains(&per_answer), "{node:#}");
        }
    }
}
