//! Language models that sample, in the form of GPT-OSS-120B: prompts and limits for each kind of
//! run, and outputs that differ from run to run unless each sample has a seed.

use std::collections::HashMap;

use e2e::{
    Folder, LoadGen, Outcome, SutNode,
    sampling_engine::{self, SAMPLED_MODEL},
    write_parts,
};
use loadgen_node::official_log::LoggedResponse;
use netdiv_contract::tokens;

/// Number of prompts in each part.
const PROMPTS: i32 = 12;

/// Writes a data set with parts. Prompts of the accuracy part occur twice. Returns its path.
fn data_set(folder: &Folder) -> String {
    let prompt =
        |number: i32| -> Vec<i32> { (0..5 + number).map(|place| 1000 * number + place).collect() };
    let once: Vec<_> = (0..PROMPTS).map(prompt).collect();
    let twice = (0..PROMPTS).map(|number| prompt(number / 2)).collect();
    let parts = [("performance", once, 10_240), ("accuracy", twice, 32_768)];
    write_parts(folder.root(), "gpt-oss-120b", &parts)
}

fn node(name: &str, dialect: &'static str, model: &str, more: &[&str]) -> SutNode {
    let url = sampling_engine::start(dialect);
    let engine = ["--engine", "openai", "--openai-dialect", dialect, "--url", &url];
    SutNode::start(name, &[&engine[..], &["--model", model], more].concat())
}

fn run(nodes: &[&SutNode], scenario: &str, mode: &str, data: &str) -> Outcome {
    let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
    LoadGen::new(&addresses, scenario)
        .data("gpt-oss-120b", data)
        .args(&["--mode", mode])
        .short(1, 40)
        .set("min_query_count=48")
        .patient()
        .run()
        .expect(0)
}

/// Returns the outputs of an accuracy run, by the sample's index.
fn outputs(outcome: &Outcome) -> HashMap<usize, Vec<i32>> {
    let of = |one: LoggedResponse| (one.qsl_idx, tokens::ids(&one.data).collect());
    outcome.responses().into_iter().map(of).collect()
}

#[test]
fn outputs_depend_on_the_seed_and_on_nothing_else_in_every_dialect() {
    let folder = Folder::create();
    let (data, model) = (data_set(&folder), folder.write("tiny.toml", SAMPLED_MODEL));
    for dialect in ["vllm", "sglang", "trtllm", "llamacpp"] {
        let seeded = ["--sampling-seed", "7"];
        let [a, b] = ["a", "b"].map(|name| node(name, dialect, &model, &seeded));
        let first = outputs(&run(&[&a, &b], "offline", "accuracy", &data));
        assert_eq!(first.len(), PROMPTS as usize);
        assert!(first.values().all(|output| output.len() <= 32_768 && output[0] == 200_005));
        assert!(
            first.values().any(|output| output.len() > 10_240),
            "{dialect}: the limit of another part"
        );
        assert!((0..PROMPTS as usize).step_by(2).all(|index| first[&index] == first[&(index + 1)]));
        assert_eq!(outputs(&run(&[&b, &a], "server", "accuracy", &data)), first, "{dialect}");
        let free = node("c", dialect, &model, &[]);
        let outcome = run(&[&free], "offline", "accuracy", &data);
        let other = outputs(&outcome);
        assert!(first.iter().all(|(index, output)| other[index] != *output), "{dialect}");
        assert_ne!(other[&0], other[&1], "{dialect}");
        let outcome = run(&[&free], "offline", "performance", &data);
        let longest = outcome.result()["nodes"][0]["tokens"]["per_answer"]["max"].as_u64();
        // A quarter of the outputs is as long as allowed; the histogram rounds up.
        assert!(longest.is_some_and(|longest| (10_240..10_256).contains(&longest)), "{longest:?}");
    }
}
