//! Every bad input results in one clear error that says what to do.

mod foreign_text;

use std::{process::Command, time::Duration};

use e2e::{
    Behaviour, FakeNode, Folder, LoadGen, SutNode, assert_refused,
    fake_node::{self, BEFORE_THE_RUN, answer},
    npy,
    ports::CLOSED,
    process::{Ended, command, loadgen_node},
};
use netdiv_contract::v1::{DataType, Decoding, InputLayout, TensorSpec};

fn run(address: &str) -> LoadGen {
    let patience = ["--connect-timeout", "1s"];
    LoadGen::new(&[address], "offline").accuracy().args(&patience)
}

fn fabric(address: &str) -> LoadGen {
    run(address).fabric("8x64")
}

fn fake(change: impl FnOnce(&mut Behaviour)) -> FakeNode {
    let mut behaviour = Behaviour::good("fake");
    change(&mut behaviour);
    FakeNode::start(behaviour)
}

#[test]
fn no_node_answers() {
    for (nodes, words) in [
        (CLOSED, "no node answers at 127.0.0.1:1"),
        ("node:x", "--nodes node:x: the port is not a number"),
        ("http://127.0.0.1:1", "without a scheme"),
        ("127.0.0.1:1, 127.0.0.1:1", "127.0.0.1:1 is given twice"),
        ("", "a node is missing"),
        ("n[1-9999999999]", "stands for 9999999999 hosts"),
        ("rack1:50051", "rack1:50051 is on another machine; give --tls-ca"),
    ] {
        fabric(nodes).run().expect_refusal(words);
    }
}

#[test]
fn nodes_that_do_not_fit_together() {
    let (a, b) = (fake(|_| {}), fake(|_| {}));
    let other = fake(|node| {
        node.description.node_name = "other".into();
        node.description.model_sha256 = "1".repeat(64);
    });
    for (node, words) in [
        (&b, "are both called `fake`; give each node its own --name"),
        (&other, "the nodes do not serve the same model"),
    ] {
        let run = LoadGen::new(&[&a.address, &node.address], "offline").fabric("8x64");
        run.run().expect_refusal(words);
    }
    let changes: [(_, fake_node::DescriptionChange); 3] = [
        ("`other`, with a different name", |node| node.node_name = "other".into()),
        ("`fake`, with a different machine", |node| node.machine_id = "other".into()),
        ("`fake`, with a different model", |node| node.model_sha256 = "2".repeat(64)),
    ];
    for (words, change) in changes {
        let several = fake(|node| node.description_change = Some((BEFORE_THE_RUN, change)));
        let words = format!("reach different nodes: the first one `fake`, another one {words}");
        fabric(&several.address).args(&["--connections", "3"]).run().expect_refusal(&words);
    }
}

#[test]
fn a_node_that_takes_other_samples() {
    let layout = |shape: &[i64]| InputLayout {
        tensors: vec![TensorSpec {
            name: "image".into(),
            data_type: DataType::Uint8 as i32,
            shape: shape.to_vec(),
        }],
    };
    let node = fake(|node| node.description.input = Some(layout(&[3, 224, 224])));
    run(&node.address)
        .run()
        .expect_refusal("takes uint8[3, 224, 224], the data set holds uint8[1, 8, 8]");
    fabric(&node.address).run().expect_refusal("sample 0 has 64 bytes, but the nodes take uint8");
    let plain = fake(|node| node.description.encodings = vec![0]);
    fabric(&plain.address)
        .args(&["--encoding", "zstd"])
        .run()
        .expect_refusal("does not decode zstd; it accepts none");
    let small = fake(|node| node.description.max_payload_bytes = 63);
    fabric(&small.address)
        .run()
        .expect_refusal("the longest sample has 64 bytes, but node fake accepts at most 63");
}

#[test]
fn data_sets_that_cannot_be_used() {
    let node = SutNode::start("a", &[]);
    let with = |name: &str, content: &[u8]| {
        let run = run(&node.address);
        let path = run.file(name, content);
        run.args(&["--dataset", &path]).run()
    };
    let npy = |descr: &str, shape: &str, bytes: usize| npy(descr, shape, vec![0; bytes]);
    with("empty.npy", b"").expect_refusal("contains no sample");
    with("none.npy", &npy("|u1", "(0, 1, 8, 8)", 0)).expect_refusal("contains no sample");
    with("text.npy", b"not an array").expect_refusal("not a .npy file");
    with("short.npy", &npy("|u1", "(4, 1, 8, 8)", 200)).expect_refusal("truncated or damaged");
    with("double.npy", &npy("<f8", "(1, 8)", 64)).expect_refusal("'<f8' are not supported");
    with("float.npy", &npy("<f4", "(4, 1, 8, 8)", 1024))
        .expect_refusal("takes uint8[1, 8, 8], the data set holds float32[1, 8, 8]");
    with("flat.npy", &npy("|u1", "(4, 64)", 256))
        .expect_refusal("takes uint8[1, 8, 8], the data set holds uint8[64]");
    run(&node.address)
        .args(&["--dataset", "/nowhere"])
        .run()
        .expect_refusal("cannot read /nowhere");
    run(&node.address)
        .args(&["--dataset", "synthetic:many"])
        .run()
        .expect_refusal("write synthetic:COUNTxBYTES");
    run(&node.address)
        .args(&["--benchmark", "resnet50"])
        .run()
        .expect_refusal("no data set for resnet50; give --dataset PATH");
    let few = run(&node.address);
    let labels = few.file("labels.npy", npy("<i4", "(3,)", 12));
    few.args(&["--labels", &labels]).run().expect_refusal("3 labels for 500 samples");
}

#[test]
fn settings_that_make_no_sense() {
    for (args, text) in [
        (
            &["--scenario", "ofline"][..],
            "[possible values: offline, server, single-stream, multi-stream]",
        ),
        (&["--mode", "fast"], "[possible values: performance, accuracy, submission, find-peak]"),
        (&["--mode", "find-peak"], "in the scenario server only"),
        (&["--encoding", "gzip"], "[possible values: none, zstd, lz4]"),
        (&["--policy", "random"], "[possible values: pull, least-outstanding, round-robin]"),
        (&["--connections", "0"], "must be at least 1"),
        (&["--connections", "18446744073709551615"], "must be from 1 to 65535"),
        (&["--connections", "65535", "--streams", "2"], "131070 streams are too many"),
        (&["--io-threads", "1000000"], "must be from 1 to 1024"),
        (&["--performance-samples", "0"], "must be at least 1"),
        (&["--sample-timeout", "0s"], "must be at least 1"),
        (&["--encoding", "gzip", "--print-config"], "[possible values: none, zstd, lz4]"),
        (&["--setting", "offline_expected_qps=1e12"], "more than LoadGen can prepare"),
        (&["--setting", "offline_expected_qps=0"], "offline_expected_qps is 0.000000, and must be"),
        (&["--setting", "offline_expected_qps=nan"], "offline_expected_qps is nan, and must be"),
        (&["--setting", "server_target_qps=-1"], "server_target_qps is -1.000000, and must be"),
        (&["--setting", "server_target_qps=inf"], "server_target_qps is inf, and must be"),
        (&["--setting", "multi_stream_samples_per_query=0"], "samples_per_query is 0, and must be"),
        (&["--setting", "server_target_latency_percentile=1"], "is 1.000000, and must be"),
        (&["--setting", "min_query_count=0"], "min_query_count is 0, and must be from 1"),
        (&["--setting", "min_query_count=1000000000000"], "more than LoadGen can prepare"),
        (&["--setting", "min_duration_ms=18446744073709551615"], "min_duration_ms is 1844674407"),
        (&["--setting", "server_num_issue_query_threads=257"], "must be from 0 to 256"),
        (
            &["--setting", "performance_sample_count_override=1000000000000"],
            "more than LoadGen can prepare",
        ),
        (&["--dataset", "synthetic:1000000000x1000000"], "its samples do not fit"),
        (&["--dataset", "synthetic:100000000000000000x1"], "bytes of memory are needed"),
        (
            &["--benchmark", "llama2-70b-interactive-99", "--dataset", "digits"],
            "a sample of llama2-70b-interactive-99 is token ids, int32 or int64",
        ),
        (&["--round", "v5.0"], "round v6.1; build one for round v5.0 with `make LOADGEN=5.0.13`"),
        (&["--round", "v4.1"], "--round v4.1: unknown round; choose one of v5.0, v5.1, v6.0, v6.1"),
        (
            &["--benchmark", "dlrm-v3", "--dataset", "synthetic-ids:2x4"],
            "--benchmark dlrm-v3 cannot be run: its queries are issued in the order",
        ),
        (
            &["--benchmark", "gpt-oss-120b", "--dataset", "synthetic-ids:4395x4"],
            "it has 4395 samples, and a run of gpt-oss-120b in mode performance uses its other set, of 6396",
        ),
        (
            &[
                "--benchmark",
                "gpt-oss-120b",
                "--dataset",
                "synthetic-ids:2x4",
                "--mode",
                "submission",
            ],
            "two runs, with --mode performance and --mode accuracy",
        ),
        (
            &["--dataset-part", "TEST07"],
            "--dataset-part TEST07: digits is not a .toml file that lists parts",
        ),
        (&["--dataset", "lost.toml", "--dataset-part", "accuracy"], "lost.toml: No such file"),
        (&["--dataset-part", "test"], "[possible values: performance, accuracy, TEST07]"),
        (
            &["--benchmark", "llama2-70b-99", "--dataset", "synthetic-ids:2x1025"],
            "sample 0 has 1025 tokens, and a prompt of llama2-70b-99 has at most 1024",
        ),
        (
            &["--benchmark", "llama2-70b-99", "--dataset", "digits"],
            "a sample of llama2-70b-99 is token ids, int32 or int64",
        ),
        (&["--output", "/dev/null/x"], "--output /dev/null/x"),
        (&["--cluster-name", "a, b"], "has no comma, bracket, quote or backslash"),
        (&["--setting", "min_duration"], "write FIELD=VALUE"),
        (&["--setting", "min_durations_ms=1"], "LoadGen has no setting `min_durations_ms`"),
        (&["--setting", "min_duration_ms=soon"], "`soon` is not a value"),
        (&["--audit-config", "/nowhere"], "--audit-config /nowhere: no such file"),
        (&["--user-conf", "/nowhere"], "cannot read /nowhere"),
        (&["--frobnicate"], "unexpected argument '--frobnicate'"),
    ] {
        // Giving an option twice would be another error, so this starts from nothing.
        let run = LoadGen::bare(CLOSED);
        let scenario: &[&str] =
            if args[0] == "--scenario" { &[] } else { &["--scenario", "offline"] };
        run.args(scenario).args(args).run().expect_refusal(text);
    }
}

#[test]
fn a_node_chooses_tokens_as_the_benchmark_requires() {
    for (benchmark, decoding, words) in [
        (
            "gpt-oss-120b",
            Decoding::Greedy,
            "node odd: it takes the likeliest token, but outputs of gpt-oss-120b are sampled",
        ),
        (
            "llama2-70b-99.9",
            Decoding::Sampled,
            "node odd: it samples outputs, but those of llama2-70b-99.9 are not sampled",
        ),
    ] {
        let mut odd = Behaviour::of_tokens("odd", |_, request| vec![answer(&request)]);
        odd.description.decoding = decoding as i32;
        let node = FakeNode::start(odd);
        run(&node.address).data(benchmark, "synthetic-ids:2x4").run().expect_refusal(words);
    }
}

#[test]
fn responses_to_prompts_are_token_ids() {
    let mut odd = Behaviour::of_tokens("odd", |_, request| vec![answer(&request)]);
    (odd.description.tokens, odd.description.token_counts) = (false, true);
    let node = FakeNode::start(odd);
    run(&node.address)
        .data("llama2-70b-99", "synthetic-ids:2x4")
        .run()
        .expect_refusal("responses of node odd are not token ids, which llama2-70b-99 requires");
}

#[test]
fn files_with_a_bad_line() {
    let run = LoadGen::new(&[CLOSED], "server");
    let user_conf = run.file("user.conf", "*.Server.target_qps = 10\n*.Server.target_qps = fast\n");
    run.args(&["--user-conf", &user_conf]).run().expect_refusal("line 2: `fast` is not a number");

    let run = LoadGen::new(&[CLOSED], "server");
    let config = run.file("run.toml", "encoding = 'none'\nbatchsize = 3\n");
    let outcome = run.args(&["--config", &config]).run();
    outcome
        .expect_refusal("line 2")
        .expect_refusal("line 2: `batchsize`: there is no such setting");
}

#[test]
fn what_loadgen_does_not_survive_is_refused_wherever_it_is_set() {
    let run = || LoadGen::new(&[CLOSED], "multi-stream").fabric("8x64");
    let refusal = "LoadGen's multi_stream_samples_per_query is 0, and must be from 1";
    let lines = "*.MultiStream.samples_per_query = 0\n";
    run().set("multi_stream_samples_per_query=0").run().expect_refusal(refusal);
    for option in ["--user-conf", "--audit-config"] {
        let run = run();
        let file = run.file("settings.conf", lines);
        run.args(&[option, &file]).run().expect_refusal(refusal);
    }
}

#[test]
fn files_that_never_end_are_refused_by_their_kind() {
    let node = SutNode::echo("a", &[]);
    let folder = Folder::create();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("Linux has it").success());
    let kinds = [("/dev/zero", "it is a device"), (pipe.as_str(), "it is a pipe")];
    for (path, kind) in kinds {
        let of_a_run = ["--config", "--user-conf", "--audit-config", "--evidence", "--benchmarks"];
        let options = [&of_a_run[..], &["--token-file", "--tls-ca", "--labels", "--dataset"]];
        for option in options.concat() {
            let outcome = run(&node.address).args(&[option, path]).run();
            let outcome = outcome.expect_refusal(kind).expect_refusal(path);
            assert!(outcome.time < Duration::from_secs(10), "{option} {path}: {outcome:#?}");
        }
        let model = ["--engine", "/nowhere.so", "--model"];
        for args in [
            &["--config"][..],
            &["--model"],
            &["--evidence"],
            &["--token-file"],
            &["--tls-key", path, "--tls-certificate"],
            &model,
            &["--engine", "decoder", "--model"],
            &["--engine", "torch", "--model"],
        ] {
            let args = [args, &[path]].concat();
            let log = SutNode::try_start("b", &args).err().unwrap_or_default();
            assert!(log.contains(kind) && log.contains(path), "{args:?}: {log}");
        }
        let submission = ["submission", "--settings", path, "--output", &folder.path("tree")];
        loadgen_node(&submission).expect_text(2, kind);
    }
    run(&node.address).args(&["--user-conf", "/tmp"]).run().expect_refusal("it is a folder");
}

#[test]
fn sizes_beyond_a_limit_of_memory_are_refused_by_number() {
    let run = || {
        let run = LoadGen::new(&[CLOSED], "offline").after_commands("ulimit -v 1000000");
        run.args(&["--benchmark", "fabric", "--dataset"])
    };
    run()
        .args(&["synthetic:2000x1000000"])
        .run()
        .expect_refusal("its samples do not fit: 200")
        .expect_refusal("the limit of its address space, ulimit -v");
    run()
        .args(&["synthetic:8x64", "--setting", "offline_expected_qps=100000"])
        .run()
        .expect_refusal("more than LoadGen can prepare here");
}

/// Creates a run into a folder that another run may use.
fn run_into(node: &SutNode, folder: &str) -> LoadGen {
    let run = LoadGen::bare(&node.address).args(&["--scenario", "offline", "--output", folder]);
    run.fabric("8x64").accuracy()
}

#[test]
fn a_second_run_into_the_folder_of_one_under_way() {
    let node = SutNode::echo("a", &[]);
    // A frozen node holds up the first run once the run has its folder.
    node.signal("-STOP");
    let first = LoadGen::new(&[&node.address], "offline").fabric("8x64").accuracy();
    let folder = first.folder().join("out");
    let first = first.start();
    e2e::wait_until("the first run has its folder", || folder.join("run.lock").exists());
    let second = run_into(&node, &folder.display().to_string());
    second.run().expect_refusal("another run is writing into");
    node.signal("-CONT");
    let outcome = first.wait().expect(0);
    assert_eq!(outcome.result()["verdict"], "COMPLETE");
    assert!(!outcome.path("run.lock").exists(), "the lock file is removed");
}

#[test]
fn an_output_folder_that_holds_another_run() {
    let node = SutNode::echo("a", &[]);
    let first = fabric(&node.address).run().expect(0);
    let folder = first.path("").display().to_string();
    run_into(&node, &folder).run().expect_refusal("holds another run");
    assert_eq!(first.result()["verdict"], "COMPLETE", "the other run is unchanged");
}

#[test]
fn nodes_that_cannot_start_say_why() {
    let node = SutNode::echo("a", &[]);
    let folder = Folder::create();
    let file = folder.write("not-a-model", "not a model");
    for (args, words) in [
        (&["--model", &file][..], "cannot be loaded as an ONNX model"),
        (&["--model", "/nowhere.onnx"], "cannot read the model /nowhere.onnx"),
        (&["--engine", "abacus"], "choose one of onnx, decoder, torch, none, echo"),
        (&["--echo-batch", "1us"], "--echo-batch belongs to the engine echo"),
        (&["--name", "a, b"], "has no comma, bracket, quote or backslash"),
        (&["--max-batch", "0"], "must be from 1 to 65536"),
        (&["--echo-answer-bytes", "99999999999", "--engine", "echo"], "from 0 to 268435456"),
        (&["--max-payload-bytes", "999999999999"], "must be from 1 to 268435456"),
        (&["--metrics", "here"], "not an address"),
    ] {
        assert_refused(SutNode::try_start("b", args), words);
    }
    let second = SutNode::try_start_at(&node.address, &["--name", "b"]);
    assert_refused(second, "is the port in use?");
}

#[test]
fn nodes_tells_who_is_there_and_who_is_not() {
    let a = SutNode::start("first", &[]);
    let text = e2e::nodes(&[&a.address, CLOSED], Duration::from_millis(300)).expect(1).stdout;
    assert_eq!(text.matches("no node answers").count(), 1, "{text}");
    assert!(text.contains(&format!("problem: node-unusable ({CLOSED})")), "{text}");
    for part in ["first at 127.0.0.1", "digits, SHA-256", "uint8[1, 8, 8]", "onnx", "round trip"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    Ended::of(command("loadgen-node").arg("benchmarks").stdout(full))
        .expect_text(3, "cannot write to standard output: No space left");
}
