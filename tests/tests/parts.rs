//! Data sets that list a part for each mode: a run uses the samples of its part, and nodes end
//! outputs at its limit.

use e2e::{
    Behaviour, FakeNode, LoadGen, SutNode, fake_node::answer, ports::CLOSED,
    python_engine::PythonEngine,
};
use netdiv_contract::tokens;
use netdiv_dataset::write_ids;
use netdiv_node_common::resources::files::sha256_of;
use serde_json::json;

/// Writes a data set into the folder of a run: 60 samples for performance and 30 for accuracy, with
/// outputs of at most 20 and 30 tokens. Returns the path of the file that lists them.
fn two_parts(run: &LoadGen) -> String {
    let part = |name: &str, count: i32, limit: u32| {
        let prompts: Vec<_> = (1..=count).map(|id| vec![id; 4]).collect();
        let (file, mut ids) = (format!("set-{name}.ids"), Vec::new());
        write_ids(&mut ids, &prompts).expect("memory");
        run.file(&file, &ids);
        let digest = |prompt: &Vec<i32>| sha256_of([&tokens::to_bytes(prompt)[..]]);
        let samples: Vec<_> =
            prompts.iter().map(|one| json!({"name": "prompt", "sha256": digest(one)})).collect();
        let manifest = json!({
            "form": 1, "benchmark": "chat", "subset": "validation", "samples_form": "int32",
            "complete": true, "samples": samples,
        });
        run.file(&format!("{file}.manifest.json"), manifest.to_string());
        let sha256 = sha256_of([&ids[..]]);
        format!(
            "[{name}]\nfile = '{file}'\nsamples = {count}\nmax_output_tokens = {limit}\nsha256 = '{sha256}'\n"
        )
    };
    let parts = [part("performance", 60, 20), part("accuracy", 30, 30)].concat();
    run.file("set.toml", format!("form = 1\nbenchmark = 'chat'\n{parts}"))
}

#[test]
fn each_mode_has_its_samples_and_its_limit_of_outputs() {
    let pace = ["--engine", "tokens", "--tokens-ttft", "1ms", "--tokens-tpot", "20us"];
    let node = SutNode::start("a", &[&pace[..], &["--tokens-output", "10-40"]].concat());
    expect_limits(&node);
    // The class obeys its request; its own minimum is above the limit of one part.
    let class = PythonEngine::new(
        "
class Long:
    vocabulary, max_input_tokens, max_tokens, min_tokens = 32000, 64, 40, 25
    prefix_caching = False

    def generate(self, request):
        yield from range(10, 10 + request.max_tokens)
",
    );
    expect_limits(&class.node(&[]));
}

/// Makes a run of each part, and expects its samples, and outputs that its limit has cut off.
fn expect_limits(node: &SutNode) {
    for (mode, samples, limit) in [("performance", 60, 20), ("accuracy", 30, 30)] {
        let run = LoadGen::new(&[&node.address], "offline").args(&["--mode", mode]);
        let run = run.short(1, 200).set("min_query_count=60").patient();
        let set = two_parts(&run);
        let result = run.data("chat", &set).run().expect(0).result();
        let part = json!({"name": mode, "max_output_tokens": limit});
        assert_eq!((&result["dataset_part"], &result["dataset_samples"]), (&part, &samples.into()));
        assert_eq!(result["nodes"][0]["tokens"]["per_answer"]["max"], limit, "{result:#}");
        assert_eq!(result["prepared"][0]["data_set"], "set.toml", "{result:#}");
    }
}

#[test]
fn what_does_not_fit_a_part_is_refused() {
    let run = |address: &str, args: &[&str]| {
        let run = LoadGen::new(&[address], "offline").args(args);
        let set = two_parts(&run);
        run.data("chat", &set).run()
    };
    for (args, words) in [
        (&["--mode", "submission"][..], "two runs, with --mode performance and --mode accuracy"),
        (&["--dataset-part", "TEST07"], "no part TEST07; its parts: performance, accuracy"),
    ] {
        run(CLOSED, args).expect_refusal(words);
    }
    let mut short = Behaviour::of_tokens("short", |_, request| vec![answer(&request)]);
    short.description.max_output_tokens = 16;
    let node = FakeNode::start(short);
    run(&node.address, &[]).expect_refusal(
        "outputs of node short have at most 16 tokens, and the part performance allows 20: raise max_tokens",
    );
}
