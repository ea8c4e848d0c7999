//! Accuracy runs: every sample once, with exactly the response that the node computed.

use std::sync::mpsc;

use bytes::Bytes;
use e2e::{Behaviour, FakeNode, LoadGen, Outcome, SutNode, npy};
use netdiv_contract::{
    layout::{self, DataType, InputLayout, TensorSpec},
    v1::Tokens,
};
use netdiv_dataset as dataset;
use netdiv_node_common::process::parse_keys;
use sut_node::{Args, InProcess};

/// Returns the responses of the same engine and model without a network.
fn answers_without_network() -> Vec<Bytes> {
    let args: Args = parse_keys(["--model", "digits"]).expect("settings");
    let config = args.resolve().expect("they are valid");
    let (sender, replies) = mpsc::channel();
    let node = InProcess::start(&config, Tokens::Whole, move |answers| {
        answers.into_iter().for_each(|answer| drop(sender.send(answer)));
    });
    let node = node.expect("the embedded model loads");
    let digits = dataset::open("digits").expect("the embedded data set");
    let sample = |n| digits.read(n).expect("a sample").into_payload(&node.model().input);
    let samples = (0..digits.sample_count()).map(|n| (n as u64, sample(n)));
    node.push(samples).expect("they fit");
    node.flush();
    let mut answers: Vec<_> = replies.iter().take(digits.sample_count()).collect();
    answers.sort_by_key(|answer| answer.id);
    answers.into_iter().map(|answer| answer.payload).collect()
}

fn assert_same_as_without_network(outcome: &Outcome) {
    let mut responses = outcome.responses();
    if outcome.result()["scenario"] == "multi-stream" {
        // LoadGen fills the last query of eight with samples that it issued before.
        responses.dedup();
    }
    let want = answers_without_network();
    assert_eq!(responses.len(), want.len(), "each sample once");
    for (place, (response, want)) in responses.iter().zip(want).enumerate() {
        assert_eq!(response.qsl_idx, place);
        assert_eq!(response.data, want, "sample {place}");
    }
    let result = outcome.result();
    assert_eq!(result["verdict"], "COMPLETE");
    assert_eq!(result["accuracy"]["correct"], 493, "as deploy/digits/README.md says");
    assert_eq!(result["samples"]["lost"], 0);
    assert_eq!(outcome.read("val_map.txt").lines().count(), 500);
}

#[test]
fn all_scenarios_give_the_answers_of_the_model_without_a_network() {
    let (a, b) = (SutNode::start("a", &[]), SutNode::start("b", &[]));
    for scenario in ["offline", "server", "single-stream", "multi-stream"] {
        let outcome = LoadGen::new(&[&a.address, &b.address], scenario)
            .accuracy()
            .set("server_target_qps=2000")
            .run()
            .expect(0);
        assert_same_as_without_network(&outcome);
    }
}

#[test]
fn encodings_policies_and_connections_change_no_answer() {
    let a = SutNode::start("a", &["--response-encoding", "zstd", "--instances", "2"]);
    let b = SutNode::start("b", &["--response-encoding", "lz4", "--max-batch", "7"]);
    for args in [
        ["--encoding", "zstd", "--policy", "round-robin", "--connections", "3"],
        ["--encoding", "lz4", "--policy", "least-outstanding", "--io-threads", "2"],
        ["--encoding", "none", "--policy", "pull", "--window-samples", "1"],
    ] {
        let outcome = LoadGen::new(&[&a.address, &b.address], "offline")
            .accuracy()
            .args(&args)
            .run()
            .expect(0);
        assert_same_as_without_network(&outcome);
    }
}

#[test]
fn a_set_that_does_not_fit_into_memory_comes_in_parts() {
    let node = SutNode::start("a", &[]);
    let outcome = LoadGen::new(&[&node.address], "offline")
        .accuracy()
        .args(&["--performance-samples", "64"])
        .run()
        .expect(0);
    assert_same_as_without_network(&outcome);
}

#[test]
fn a_submission_run_has_both_accuracy_and_performance() {
    let node = SutNode::start("a", &[]);
    let outcome = LoadGen::new(&[&node.address], "server")
        .args(&["--mode", "submission"])
        .set("server_target_latency_ns=1000000000")
        .short(1500, 600)
        .run()
        .expect(0);
    let result = outcome.result();
    assert_eq!(result["verdict"], "VALID");
    assert_eq!(result["accuracy"]["correct"], 493);
    assert!(result["metric"]["value"].as_f64().is_some_and(|qps| qps > 300.0), "{result:#}");
}

#[test]
fn samples_of_varying_shape_travel_packed() {
    let mut behaviour = Behaviour::good("fake");
    behaviour.description.input = Some(InputLayout {
        tensors: vec![TensorSpec {
            name: "tokens".into(),
            data_type: DataType::Uint8 as i32,
            shape: vec![-1],
        }],
    });
    let node = FakeNode::start(behaviour);
    let run = LoadGen::new(&[&node.address], "offline");
    let folder = run.folder().join("data").display().to_string();
    for length in [3, 5] {
        run.file(&format!("data/{length}.npy"), npy("|u1", &format!("({length},)"), 0..length));
    }
    run.data("x", &folder).accuracy().run().expect(0);
    let mut lengths = node.seen(|seen| {
        let unpack = |payload: &[u8]| {
            let tensors = layout::unpack(payload).expect("packed");
            let data: Vec<u8> = (0..tensors[0].shape[0] as u8).collect();
            assert_eq!((tensors.len(), tensors[0].data), (1, &data[..]));
            tensors[0].shape[0]
        };
        seen.requests.iter().map(|request| unpack(&request.payload)).collect::<Vec<_>>()
    });
    lengths.sort_unstable();
    assert_eq!(lengths, [3, 5]);
}

/// The window counts a sample as the node does, by its encoded or decoded length, whichever is
/// larger. Otherwise a node that is slow and full would be reported as lost.
#[test]
fn samples_that_shrink_a_thousand_times_do_not_overrun_the_node() {
    let limits = ["--max-in-flight-bytes", "1000000", "--max-in-flight-samples", "1000"];
    let fast = SutNode::echo("a", &limits);
    let slow = SutNode::echo("b", &[&limits[..], &["--echo-sample", "50ms"]].concat());
    let run = LoadGen::new(&[&fast.address, &slow.address], "offline");
    let zeros = npy("|u1", "(200, 100000)", vec![0; 20_000_000]);
    let zeros = run.file("zeros.npy", zeros);
    run.data("x", &zeros)
        .accuracy()
        .args(&["--encoding", "zstd", "--control-timeout", "2s"])
        .run()
        .expect(0);
}
