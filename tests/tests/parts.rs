//! Data sets that list a part for each mode: a run uses the samples of its part, and nodes end
//! outputs at its limit.

use e2e::{
    Behaviour, FakeNode, Folder, LoadGen, SutNode, fake_node::answer, ports::CLOSED,
    python_engine::PythonEngine, write_parts,
};
use serde_json::json;

/// Writes a data set: 60 samples for performance and 30 for accuracy, with outputs of at most 20 and
/// 30 tokens. Returns the path of the file that lists them.
fn two_parts(folder: &Folder) -> String {
    let prompts = |count: i32| (1..=count).map(|id| vec![id; 4]).collect::<Vec<_>>();
    let parts = [("performance", prompts(60), 20), ("accuracy", prompts(30), 30)];
    write_parts(folder.root(), "chat", &parts)
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
    let folder = Folder::create();
    let set = two_parts(&folder);
    for (mode, samples, limit) in [("performance", 60, 20), ("accuracy", 30, 30)] {
        let run = LoadGen::new(&[&node.address], "offline").args(&["--mode", mode]);
        let run = run.short(1, 200).set("min_query_count=60").patient();
        let result = run.data("chat", &set).run().expect(0).result();
        let part = json!({"name": mode, "max_output_tokens": limit});
        assert_eq!((&result["dataset_part"], &result["dataset_samples"]), (&part, &samples.into()));
        assert_eq!(result["nodes"][0]["tokens"]["per_answer"]["max"], limit, "{result:#}");
        assert_eq!(result["prepared"][0]["data_set"], "chat.toml", "{result:#}");
    }
}

#[test]
fn what_does_not_fit_a_part_is_refused() {
    let folder = Folder::create();
    let set = two_parts(&folder);
    let run = |address: &str, args: &[&str]| {
        LoadGen::new(&[address], "offline").data("chat", &set).args(args).run()
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
