//! Language models of the engine torch: through LoadGen, QDL and sockets, compared id by id with what transformers answered
//! (`tests/models/README.md`).

use std::path::Path;

use e2e::{LoadGen, Outcome, SutNode};
use loadgen_node::official_log::read_responses;
use netdiv_contract::{layout::InputLayout, tokens};

/// A file of the fixtures.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name);
    path.to_str().expect("a path in UTF-8").into()
}

fn node(name: &str, model: &str) -> SutNode {
    let manifest = file(&format!("{model}.toml"));
    SutNode::start(name, &["--engine", "torch", "--model", &manifest, "--threads", "1"])
}

fn run(nodes: &[&SutNode], model: &str, scenario: &str, mode: &str) -> LoadGen {
    let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
    LoadGen::new(&addresses, scenario)
        .args(&["--benchmark", "chat", "--dataset", &file(&format!("{model}-prompts.ids"))])
        .args(&["--mode", mode])
        .short(1500, 50)
        .args(&["--setting", "min_query_count=100"])
}

/// With token latencies, and bounds that any machine keeps.
fn with_latencies(run: LoadGen) -> LoadGen {
    run.args(&["--setting", "use_token_latencies=true"])
        .args(&["--setting", "server_ttft_latency=60000000000"])
        .args(&["--setting", "server_tpot_latency=60000000000"])
}

fn assert_right(outcome: &Outcome, model: &str) {
    let data = netdiv_dataset::open(&file(&format!("{model}-outputs.ids"))).expect("outputs");
    let responses = read_responses(&outcome.path("mlperf_log_accuracy.json")).expect("a log");
    assert_eq!(responses.len(), data.sample_count());
    for response in responses {
        let wanted = data.read(response.qsl_idx).expect("an output");
        let wanted = wanted.into_payload(&InputLayout::default());
        let ids: Vec<_> = tokens::ids(&response.data).collect();
        let wanted: Vec<_> = tokens::ids(&wanted).collect();
        assert_eq!(ids, wanted, "{model}, sample {}", response.qsl_idx);
    }
}

#[test]
fn two_nodes_answer_as_transformers_does_in_offline_and_server() {
    for model in ["tiny-llama", "tiny-llama3.1", "tiny-mixtral"] {
        let nodes = [node("a", model), node("b", model)];
        for scenario in ["offline", "server"] {
            let run = run(&[&nodes[0], &nodes[1]], model, scenario, "accuracy");
            assert_right(&with_latencies(run).run().expect(0), model);
        }
    }
}

#[test]
fn beams_give_the_whole_answers_of_transformers() {
    let nodes = [node("a", "tiny-gptj"), node("b", "tiny-gptj")];
    for scenario in ["offline", "server"] {
        let outcome = run(&[&nodes[0], &nodes[1]], "tiny-gptj", scenario, "accuracy").run();
        assert_right(&outcome.expect(0), "tiny-gptj");
    }
}

#[test]
fn runs_of_two_nodes_are_valid_in_offline_and_server() {
    let nodes = [node("a", "tiny-llama"), node("b", "tiny-llama")];
    for scenario in ["offline", "server"] {
        let run = run(&[&nodes[0], &nodes[1]], "tiny-llama", scenario, "performance");
        let outcome = with_latencies(run).run().expect(0);
        let result = outcome.result();
        assert_eq!(result["verdict"], "VALID", "{result:#}");
        assert_eq!(result["token_metric"]["unit"], "tokens/s");
    }
}
