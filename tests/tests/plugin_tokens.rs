//! Engine plug-ins for language models: one in C++ (`tests/plugin/counter.cc`), which counts, and
//! its violations of the interface.

use e2e::{
    LoadGen, Outcome, SutNode, assert_refused,
    plugin::{self, Plugin},
    process::sut_node,
    slow_reader::request,
};
use netdiv_contract::{
    SessionHeader, framing, tokens,
    v1::{InferResponse, Part, Tokens},
};
use netdiv_dataset::write_ids;
use netdiv_transport::Connection;
use serde_json::Value;

use crate::calls::options;

const MIN_TOKENS: u32 = 2;
const MAX_TOKENS: u32 = 40;
const END: i32 = 2;
const VOCABULARY: i32 = 1000;

/// Returns the model's output to a prompt.
fn output(prompt: &[i32]) -> Vec<i32> {
    let sum: i32 = prompt.iter().sum();
    let length = MIN_TOKENS + sum as u32 % (MAX_TOKENS - MIN_TOKENS + 1);
    let id = |place: u32| match (sum + place as i32) % VOCABULARY {
        _ if place + 1 == length && length < MAX_TOKENS => END,
        END => END + 1,
        id => id,
    };
    (0..length).map(id).collect()
}

/// Returns prompts of 1 to 64 ids, none of which begins with 7.
fn prompts() -> Vec<Vec<i32>> {
    let id = |n: i32| (n * 7919 + n * n) % VOCABULARY;
    let prompt = |n: i32| -> Vec<i32> {
        (0..n * 37 % 64 + 1).map(|place| if place == 0 { n + 8 } else { id(n + place) }).collect()
    };
    (0..150).map(prompt).collect()
}

/// The plug-in with a manifest and a model.
struct Abacus(Plugin);

impl Abacus {
    fn new(word: &str) -> Self {
        let files = [("toy.toml", plugin::COUNTER), ("model.txt", word)];
        Self(Plugin::build("counter", &[], &files))
    }

    fn write(&self, name: &str, text: &str) {
        self.0.folder.write(name, text);
    }

    fn start(&self, args: &[&str]) -> Result<SutNode, String> {
        self.0.try_node("toy.toml", args)
    }

    fn node(&self, name: &str, args: &[&str]) -> SutNode {
        self.0.node("toy.toml", &[&["--name", name], args].concat())
    }
}

/// Creates a run in which LoadGen measures tokens, with bounds that any machine meets.
fn run(addresses: &[&str], scenario: &str, mode: &str, prompts: &[Vec<i32>]) -> LoadGen {
    let run = LoadGen::new(addresses, scenario);
    let mut ids = Vec::new();
    write_ids(&mut ids, prompts).expect("writes to memory");
    let file = run.file("prompts.ids", ids);
    run.data("chat", &file)
        .args(&["--mode", mode])
        .short(1500, 500)
        .set("min_query_count=700")
        .patient()
}

/// Asserts that every output is correct, and returns LoadGen's entries.
fn assert_counts(outcome: &Outcome, prompts: &[Vec<i32>]) -> Vec<Value> {
    let responses = outcome.responses();
    assert_eq!(responses.len(), prompts.len());
    for response in responses {
        let ids: Vec<i32> = tokens::ids(&response.data).collect();
        assert_eq!(ids, output(&prompts[response.qsl_idx]), "sample {}", response.qsl_idx);
    }
    outcome.accuracy_log()
}

fn assert_serves(node: &SutNode) {
    let prompts = prompts();
    let outcome = run(&[&node.address], "offline", "accuracy", &prompts).run().expect(0);
    assert_counts(&outcome, &prompts);
}

#[test]
fn outputs_are_right_in_every_scenario_and_begin_with_their_first_tokens() {
    let abacus = Abacus::new("counts");
    let (a, b) = (abacus.node("a", &[]), abacus.node("b", &["--instances", "2"]));
    let prompts = prompts();
    for scenario in ["offline", "server", "single-stream"] {
        let run = run(&[&a.address, &b.address], scenario, "accuracy", &prompts);
        let outcome = run.args(&["--checksums"]).run().expect(0);
        assert_eq!(outcome.result()["verdict"], "COMPLETE");
        for entry in assert_counts(&outcome, &prompts) {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let (data, first) = (text("data"), text("token_data"));
            assert!(data.starts_with(&first), "{entry}");
            assert_eq!(first.len(), if scenario == "offline" { 0 } else { 8 }, "one id: {entry}");
        }
    }
}

#[test]
fn loadgen_measures_first_and_further_tokens_of_two_nodes() {
    let abacus = Abacus::new("counts");
    let (a, b) = (abacus.node("a", &[]), abacus.node("b", &["--max-in-flight-tokens", "500"]));
    for scenario in ["server", "offline"] {
        let run = run(&[&a.address, &b.address], scenario, "performance", &prompts());
        // LoadGen issues as many samples as take that long at the expected rate.
        let duration =
            if scenario == "offline" { "min_duration_ms=1" } else { "min_duration_ms=1500" };
        let outcome = run.args(&["--digests"]).set(duration).run().expect(0);
        let result = outcome.result();
        assert_eq!(result["verdict"], "VALID", "{result:#}");
        assert_eq!(result["digests"]["responses"]["differences"], 0);
        let nodes = result["nodes"].as_array().expect("a list");
        for node in nodes.iter().filter(|node| node["answered"].as_u64() > Some(0)) {
            assert_eq!((&node["engine"], &node["model"]), (&"counter".into(), &"counter".into()));
            let mean = node["tokens"]["per_answer"]["mean"].as_f64().expect("a number");
            assert!((2.0..=40.0).contains(&mean), "{node:#}");
        }
        assert_eq!(result["evidence"]["nodes"]["a"]["framework"], "counter an abacus");
    }
}

#[test]
fn a_client_that_leaves_frees_its_slots() {
    for (word, slots) in [("slow", "slots = 2"), ("narrow", "slots = 5")] {
        leave(word, slots);
    }
}

/// Fills all slots with two samples of a client that disconnects, while a third one waits.
fn leave(word: &str, slots: &str) {
    let abacus = Abacus::new(word);
    // An output to a prompt with 7 takes 400 s.
    let manifest = plugin::COUNTER
        .replace("max_tokens = 40", "max_tokens = 20000")
        .replace("min_tokens = 2", "min_tokens = 20000")
        .replace("slots = 5", slots);
    abacus.write("toy.toml", &manifest);
    let node = abacus.node("a", &[]);
    let client = tokio::runtime::Runtime::new().expect("a runtime");
    let sent: Vec<_> = (0..3).map(|id| framing::encode(&request(id, &[7, 7]))).collect();
    let requests =
        tokio_stream::StreamExt::chain(tokio_stream::iter(sent), tokio_stream::pending());
    let session = SessionHeader { tokens: Tokens::First, ..SessionHeader::default() };
    client.block_on(async {
        let connection = Connection::open(&node.address, &options()).await.expect("connects");
        let mut replies = connection.infer(&session, requests).await.expect("a stream");
        for _ in 0..2 {
            let reply: InferResponse =
                replies.next_message().await.expect("no error").expect("a first token");
            assert_eq!(reply.part(), Part::First, "{reply:?}");
        }
    });
    drop(client);
    // Later clients are served.
    let prompts: Vec<_> = (10..14).map(|id| vec![id]).collect();
    let outcome = run(&[&node.address], "offline", "accuracy", &prompts).run().expect(0);
    let responses = outcome.responses();
    assert!(responses.iter().all(|response| tokens::ids(&response.data).len() == 20_000));
}

#[test]
fn a_plugin_that_breaks_the_rules_fails_by_name_and_the_node_goes_on() {
    let abacus = Abacus::new("counts");
    let mut bad = prompts();
    // Its output has 15 ids.
    bad[70] = vec![7, 6];
    for (word, reason) in [
        ("fails", "the model failed: a bead fell off"),
        ("stranger", "an event, but the sample is not in flight"),
        ("outside", "the id 1000; ids go from 0 to 999"),
        ("negative", "the id -1; ids go from 0 to 999"),
        ("null", "ids at an invalid address"),
        ("endless", "ids after an id that ends the output"),
        ("early", "an end at length 2 of 40, without an id that ends an output"),
        ("babbles", "40 ids after 1, but at most 40 are allowed"),
        ("twice", "two events in one step"),
        ("goes-on", "ids after an id that ends the output"),
        ("counts-wrong", "a step returned 6 events, but there is room for 5"),
        ("picky", "the model failed: it does not like 7"),
        ("stubborn", "the model failed: it does not start"),
        ("tiny", "the model failed: out of memory: the cache has no room for the sample"),
        ("silent", "no sample made progress for"),
    ] {
        abacus.write("model.txt", word);
        let node = abacus.node("a", &["--engine-timeout", "700ms"]);
        // With other samples the engine would still make progress.
        let prompts = if word == "silent" { &bad[70..71] } else { &bad[..] };
        run(&[&node.address], "server", "accuracy", prompts).run().expect_failure(reason);
        assert_serves(&node);
    }
}

#[test]
fn a_sample_that_goes_on_without_ids_is_waited_for() {
    let abacus = Abacus::new("plods");
    // The second id takes 3 s, in steps that each report that the sample goes on.
    let node = abacus.node("a", &["--engine-timeout", "1500ms"]);
    let prompts = [vec![7, 6]];
    let outcome = run(&[&node.address], "offline", "accuracy", &prompts).run().expect(0);
    assert_counts(&outcome, &prompts);
}

#[test]
fn an_output_that_ends_before_its_least_ids_fails_by_name() {
    let abacus = Abacus::new("ends-early");
    abacus.write("toy.toml", &plugin::COUNTER.replace("min_tokens = 2", "min_tokens = 3"));
    let node = abacus.node("a", &[]);
    run(&[&node.address], "offline", "accuracy", &[vec![7, 6]])
        .run()
        .expect_failure("an end at id 2, before the minimum of 3 ids");
}

#[test]
fn a_step_that_does_not_return_ends_the_run_by_name() {
    let abacus = Abacus::new("hangs");
    let node = abacus.node("a", &["--engine-timeout", "500ms"]);
    run(&[&node.address], "server", "accuracy", &[vec![7, 6]])
        .run()
        .expect_failure("longer than --engine-timeout allows");
}

#[test]
fn samples_wait_for_room_in_the_cache() {
    let abacus = Abacus::new("narrow");
    assert_serves(&abacus.node("a", &[]));
    abacus.write("model.txt", "counts");
    abacus.write("toy.toml", &plugin::COUNTER.replace("slots = 5", "slots = 50\ncache_mib = 1"));
    let mut node = abacus.node("a", &[]);
    assert_serves(&node);
    let (_, log) = node.stop();
    assert!(log.contains("slots=4 cache_bytes=1048576"), "{log}");
}

#[test]
fn a_run_with_prompts_that_the_model_does_not_take_is_refused_by_name() {
    let abacus = Abacus::new("counts");
    let node = abacus.node("a", &[]);
    for (prompt, words) in [
        (vec![8; 65], "sample 1 has 65 tokens, but node a accepts at most 64"),
        (vec![1, 1000], "sample 1 has the id 1000, but the ids of node a go from 0 to 999"),
    ] {
        run(&[&node.address], "server", "accuracy", &[vec![8], prompt]).run().expect_refusal(words);
    }
    assert_serves(&node);
}

#[test]
fn settings_and_models_that_do_not_fit_are_refused() {
    let abacus = Abacus::new("counts");
    for (args, words) in [
        (["--max-batch", "5"], "--max-batch is for models of tensors"),
        (["--batch-sizes", "5"], "--batch-sizes is for models of tensors"),
        (["--buckets", "5"], "--buckets is for models of tensors"),
        (["--max-batch-tokens", "5"], "--max-batch-tokens is for models of tensors"),
        (["--max-batch-bytes", "5"], "--max-batch-bytes is for models of tensors"),
        (["--batch-timeout", "5us"], "--batch-timeout is for models of tensors"),
        (["--workload-threads", "5"], "--workload-threads is for models of tensors"),
        (["--scenario", "server"], "--scenario is for models of tensors"),
        (["--threads", "0"], "--threads 0: must be from 1"),
        (["--max-in-flight-tokens", "40"], "--max-in-flight-tokens 40: must be from 41"),
    ] {
        assert_refused(abacus.start(&args), words);
    }
    for (from, to, words) in [
        ("slots = 5", "slots = 0", "toy.toml: [tokens] slots = 0: must be from 1 to 4096"),
        ("slots = 5", "slots = 5\nbeams = 2", "it counts one way only: beams = 1"),
        ("[tokens]", "inputs = []\n[tokens]", "unknown field `inputs`"),
        ("eos", "sha256 = 'SHA'\neos", "but its manifest states 0000"),
        ("model.txt", "none.txt", "cannot read the model"),
        (
            "\"language-model\"",
            "\"language-models\"",
            "workload = \"language-models\": with [tokens], it must be",
        ),
    ] {
        abacus
            .write("toy.toml", &plugin::COUNTER.replace(from, to).replace("SHA", &"0".repeat(64)));
        assert_refused(abacus.start(&[]), words);
    }
    abacus.write("toy.toml", plugin::COUNTER);
    for (word, words) in [
        ("", "the model file must hold one word"),
        ("no-slots", "open returned room for 0 samples; the node requested 1 to 5"),
        ("cold", "the abacus is full; lower `slots` or `cache_mib` in [tokens]"),
    ] {
        abacus.write("model.txt", word);
        assert_refused(abacus.start(&[]), words);
    }
}

#[test]
fn a_plugin_and_a_manifest_of_other_kinds_are_refused() {
    let abacus = Abacus::new("counts");
    let files = [("toy.toml", plugin::COUNTER), ("model.txt", "counts")];
    let started = Plugin::build("doubler", &[], &files).try_node("toy.toml", &[]);
    assert_refused(started, "the plug-in doubler does not support language models");
    let tensors = "name = 'x'\nmodel = 'model.txt'\nworkload = 'tensors'\nprecision = 'fp32'\n\
        inputs = [{ name = 'x', data_type = 'float32', shape = [2] }]\n\
        outputs = [{ name = 'y', data_type = 'float32', shape = [2] }]\n";
    abacus.write("toy.toml", tensors);
    assert_refused(abacus.start(&[]), "the plug-in counter supports only language models");
    abacus.write("toy.toml", &format!("{tensors}[tokens]\nslots = 5\n"));
    assert_refused(abacus.start(&[]), "not a manifest of a language model");
}

#[test]
fn the_engines_can_be_fed_without_a_network_and_the_devices_are_shown() {
    let abacus = Abacus::new("counts");
    let (plugin, manifest) = (&abacus.0.library, abacus.0.folder.path("toy.toml"));
    let engine = ["--name", "x", "--engine", plugin, "--model", &manifest];
    let bench = ["bench", "--seconds", "0.2", "--dataset", "synthetic-ids:100x1-64"];
    // The ids of the data set belong to a vocabulary of 32,000.
    abacus.write("toy.toml", &plugin::COUNTER.replace("vocabulary = 1000", "vocabulary = 32000"));
    let text = sut_node(&[&bench[..], &engine].concat()).expect(0).stdout;
    assert!(text.contains("tokens per second") && text.contains("first token"), "{text}");
    let text = sut_node(&["devices", "--engine", plugin]).expect(0).stdout;
    assert!(text.contains("counter (an abacus)") && text.contains("abacus:0"), "{text}");
}
