//! Waveforms of different lengths, and an engine in Python that returns the characters of a text
//! and the number of the model's tokens.

use e2e::{
    Behaviour, FakeNode, Folder, LoadGen, SutNode, npy, process::built_file,
    python_engine::PythonEngine,
};
use netdiv_contract::v1::DescribeResponse;

/// An engine whose text has a character for each element, up to 41, and two tokens more than the
/// waveform has elements. Silence is tried at the start.
const SPEECH: &str = "
import numpy as np
from netdiv_engine import Tensor

class Speech:
    inputs = [Tensor('waveform', 'int16', ('samples',))]
    outputs = [Tensor('characters', 'int8', ('length',))]
    max_lengths = {'samples': 480_000, 'length': 64}
    counts_tokens = True
    max_batch = 4

    def infer(self, batch):
        heard = batch['waveform']
        texts = [np.arange(len(one) % 42, dtype=np.int8) for one in heard]
        counts = [2 + len(one) for one in heard]
        return texts, counts
";

/// Lengths of the waveforms. The second text is empty.
const LENGTHS: [usize; 4] = [1, 42, 100, 30_000];

/// Writes waveforms into a folder, and returns its path.
fn waveforms(folder: &Folder) -> String {
    for (number, length) in LENGTHS.into_iter().enumerate() {
        let waveform = npy("<i2", &format!("({length},)"), [1, 0].repeat(length));
        folder.write(&format!("set/{number}.npy"), waveform);
    }
    folder.path("set")
}

/// Returns an accuracy run of these waveforms in which LoadGen counts tokens.
fn run(node: &SutNode, folder: &Folder, scenario: &str) -> LoadGen {
    let run = LoadGen::new(&[&node.address], scenario).data("x", &waveforms(folder));
    run.accuracy().patient()
}

#[test]
fn loadgen_gets_the_characters_and_the_number_of_the_model_s_tokens() {
    let (engine, folder) = (PythonEngine::new(SPEECH), Folder::create());
    let node = engine.node(&["--instances", "2", "--response-encoding", "zstd"]);
    for (transport, encoding) in [("grpc", "none"), ("quic", "zstd"), ("grpc", "lz4")] {
        let args = ["--encoding", encoding, "--checksums"];
        let outcome = run(&node, &folder, "offline").transport(transport).args(&args).run();
        let outcome = outcome.expect(0);
        let mut entries = outcome.accuracy_log();
        entries.sort_by_key(|entry| entry["qsl_idx"].as_u64());
        assert_eq!(entries.len(), LENGTHS.len(), "{entries:?}");
        for (entry, length) in entries.iter().zip(LENGTHS) {
            let places = (0..length % 42).map(|place| format!("{place:02X}"));
            assert_eq!(entry["data"], places.collect::<String>(), "{entry}");
            assert_eq!(entry["token_count"], 2 + length, "{entry}");
        }
        let result = outcome.result();
        assert_eq!(result["input"][0], "waveform int16[?]");
        let tokens = &result["nodes"][0]["tokens"];
        assert_eq!(tokens["total"], LENGTHS.iter().map(|length| 2 + length).sum::<usize>());
        assert!(result["prompt_tokens"].is_null(), "{result:#}");
    }
    // In one process, too.
    let alone = LoadGen::in_one_process("offline").data("x", &waveforms(&folder));
    let (model, python) = (engine.path("engine.py"), built_file("engine/bin/python"));
    let python = python.display();
    let settings =
        format!("name = 'a'\nengine = 'python'\nmodel = '{model}'\npython = '{python}'\n");
    let file = alone.file("node.toml", settings);
    let alone = alone.args(&["--in-process", &file]).accuracy().patient().run().expect(0);
    let mut counts: Vec<_> =
        alone.accuracy_log().iter().map(|entry| entry["token_count"].as_u64()).collect();
    counts.sort_unstable();
    assert_eq!(counts, LENGTHS.map(|length| Some(2 + length as u64)));
    // First tokens cannot be sent early, and another run needs no counts.
    let refused = run(&node, &folder, "server").run();
    refused
        .expect_refusal("whose responses are not made of tokens. Token latencies need an engine");
    let uncounted = LoadGen::new(&[&node.address], "offline").data("x", &waveforms(&folder));
    uncounted.accuracy().run().expect(0);
}

#[test]
fn an_answer_of_one_token_is_named_by_its_sample() {
    let source = SPEECH.replace("2 + len(one) for", "1 if len(one) == 100 else 2 for");
    let (engine, folder) = (PythonEngine::new(&source), Folder::create());
    let outcome = run(&engine.node(&[]), &folder, "offline").run().expect(1);
    let named = "1 answer of one token (first samples: 2): LoadGen has no time per further token";
    assert_eq!(outcome.stdout.matches(named).count(), 1, "{}", outcome.stdout);
}

#[test]
fn numbers_of_tokens_that_cannot_be_right_are_refused() {
    // What the trial of silence shows, the node reports at its start.
    for (good, bad, words) in [
        (
            "return texts, counts",
            "return texts",
            "line 11: infer returned no counts: with counts_tokens, write `return outputs, counts`",
        ),
        (
            "2 + len(one) for",
            "0 for",
            "line 11: infer counted 0 tokens for sample 0 of the batch; expected 1 to 1048576",
        ),
        (
            "counts_tokens = True",
            "counts_tokens = 1",
            "class Speech: counts_tokens = 1: write True or False",
        ),
    ] {
        let engine = PythonEngine::new(&SPEECH.replace(good, bad));
        let log = engine.try_node(&[]).err().unwrap_or_else(|| panic!("it starts: {bad}"));
        assert!(log.contains(words), "{words}: {log}");
    }
    let folder = Folder::create();
    let source = SPEECH.replace("2 + len(one) for", "0 if one.any() else 2 for");
    let node = PythonEngine::new(&source).node(&[]);
    run(&node, &folder, "offline").run().expect_failure("infer counted 0 tokens for sample");
    // A node that claims to count tokens, and does not.
    let liar = Behaviour::good("liar");
    let description = DescribeResponse { token_counts: true, ..liar.description };
    let node = FakeNode::start(Behaviour { description, ..liar });
    let run = LoadGen::new(&[&node.address], "offline").data("x", &waveforms(&folder));
    run.accuracy().patient().run().expect_failure("has a token_count of 0; expected the number");
}
