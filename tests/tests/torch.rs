//! The engine torch: every workload through LoadGen, QDL and sockets on the CPU, compared sample by
//! sample with the results of Python torch (`tests/models/README.md`); and its errors for bad
//! input.

use std::{path::Path, process::Command};

use bytes::Bytes;
use e2e::{
    Folder, LoadGen, Outcome, SutNode, assert_refused, npy,
    process::{Ended, command, model, program},
};
use netdiv_contract::layout::InputLayout;

fn torch(manifest: &str, args: &[&str]) -> SutNode {
    let manifest = model(manifest);
    SutNode::start("a", &[&["--engine", "torch", "--model", &manifest], args].concat())
}

/// Returns each sample's elements in a data set of expected responses.
fn expected(answers: &str) -> Vec<Bytes> {
    let data = netdiv_dataset::open(&model(answers)).expect("answers of the fixtures");
    let read = |n| data.read(n).expect("an answer").into_payload(&InputLayout::default());
    (0..data.sample_count()).map(read).collect()
}

/// Creates an accuracy run of these samples. A `+` joins data sets.
fn accuracy_run(node: &SutNode, dataset: &str, args: &[&str]) -> LoadGen {
    let parts: Vec<_> = dataset.split('+').map(model).collect();
    let named: &[&str] = if args.contains(&"--benchmark") { &[] } else { &["--benchmark", "x"] };
    LoadGen::new(&[&node.address], "offline")
        .accuracy()
        .args(&["--dataset", &parts.join("+")])
        .args(named)
        .args(args)
}

/// Returns the responses in the order of the samples.
fn responses(outcome: &Outcome) -> Vec<Vec<u8>> {
    outcome.responses().into_iter().map(|response| response.data).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Asserts that each sample has the expected number of values, within the fixtures' tolerance.
fn assert_close(outcome: &Outcome, answers: &str) {
    let (got, want) = (responses(outcome), expected(answers));
    assert_eq!(got.len(), want.len(), "each sample once");
    for (sample, (got, want)) in got.iter().zip(&want).enumerate() {
        let (got, want) = (floats(got), floats(want));
        assert_eq!(got.len(), want.len(), "numbers of sample {sample}");
        for (place, (got, want)) in got.iter().zip(&want).enumerate() {
            let tolerance = 1e-4 * want.abs().max(1.0);
            assert!((got - want).abs() <= tolerance, "sample {sample}, {place}: {got}, not {want}");
        }
    }
}

fn assert_same(outcome: &Outcome, answers: &[Bytes]) {
    let got = responses(outcome);
    assert_eq!(got.len(), answers.len(), "each sample once");
    for (sample, (got, want)) in got.iter().zip(answers).enumerate() {
        assert_eq!(got, want, "sample {sample}");
    }
}

#[test]
fn the_digits_network_gives_the_answers_that_it_gives_through_onnx() {
    let onnx = SutNode::start("onnx", &[]);
    let answers = |node: &SutNode| {
        let run = LoadGen::new(&[&node.address], "offline").accuracy();
        let outcome = run.run().expect(0);
        assert_eq!(outcome.result()["accuracy"]["correct"], 493);
        responses(&outcome)
    };
    let want = answers(&onnx);
    assert_eq!(answers(&torch("digits.toml", &[])), want);
    // Another precision may decide a close case differently.
    let half = answers(&torch("digits-bf16.toml", &["--instances", "2"]));
    assert!(half.iter().zip(&want).filter(|(a, b)| a != b).count() < 5);
}

#[test]
fn an_image_has_one_label_as_tensor_as_jpeg_and_compressed() {
    let labels = expected("resnet50-answers.npy");
    for (manifest, samples, encoding) in [
        ("resnet50.toml", "resnet50-uint8.npy", "none"),
        ("resnet50.toml", "resnet50-uint8.npy", "zstd"),
        ("resnet50.toml", "resnet50-uint8.npy", "lz4"),
        ("resnet50-fp32.toml", "resnet50-fp32.npy", "none"),
        ("resnet50-jpeg.toml", "resnet50-jpeg", "none"),
        ("resnet50-jpeg.toml", "resnet50-jpeg", "zstd"),
    ] {
        let node = torch(manifest, &[]);
        assert_same(
            &accuracy_run(&node, samples, &["--encoding", encoding]).run().expect(0),
            &labels,
        );
    }
    let distinct: std::collections::HashSet<_> = labels.iter().collect();
    assert!(distinct.len() > 3, "a network with a single output would pass any test");
}

#[test]
fn batches_of_any_size_padded_or_not_give_the_same_labels() {
    let labels = expected("resnet50-answers.npy");
    for args in [["--max-batch", "1"], ["--max-batch", "3"], ["--batch-sizes", "5,16"]] {
        let node = torch("resnet50.toml", &args);
        assert_same(&accuracy_run(&node, "resnet50-uint8.npy", &[]).run().expect(0), &labels);
    }
}

#[test]
fn detections_after_suppression_are_those_of_torchvision() {
    for args in [&[][..], &["--max-batch", "1"]] {
        let node = torch("retinanet.toml", args);
        let run = accuracy_run(&node, "retinanet-uint8.npy", &["--benchmark", "retinanet"]);
        let outcome = run.run().expect(0);
        assert_close(&outcome, "retinanet-answers");
        assert!(outcome.stdout.contains("accuracy-openimages.py"), "{}", outcome.stdout);
    }
}

#[test]
fn tokens_give_start_and_end_logits_with_mask_and_segments_or_without() {
    let all = "bert-ids+bert-mask+bert-segments";
    for (manifest, samples, args) in [
        ("bert.toml", all, &[][..]),
        ("bert.toml", all, &["--buckets", "16,32,64", "--max-batch-tokens", "64"]),
        ("bert-ids.toml", "bert-ids", &["--max-batch", "4"]),
    ] {
        let outcome = accuracy_run(&torch(manifest, args), samples, &["--benchmark", "bert-99"])
            .run()
            .expect(0);
        assert_close(&outcome, "bert-answers");
    }
}

#[test]
fn volumes_of_different_sizes_are_segmented_window_by_window() {
    let node = torch("unet3d.toml", &[]);
    let outcome =
        accuracy_run(&node, "unet3d-volumes", &["--encoding", "lz4", "--benchmark", "3d-unet-99"])
            .run()
            .expect(0);
    assert_same(&outcome, &expected("unet3d-answers"));
}

#[test]
fn samples_with_different_numbers_of_pairs_share_a_batch() {
    for args in [&[][..], &["--max-batch-tokens", "300"]] {
        let node = torch("dlrm.toml", args);
        let outcome = accuracy_run(&node, "dlrm-dense+dlrm-sparse", &["--benchmark", "dlrm-v2-99"])
            .run()
            .expect(0);
        assert_close(&outcome, "dlrm-answers");
    }
}

/// Starts a node in the folder of the fixtures, which contains the graph.
fn graph_node(args: &[&str]) -> Result<SutNode, String> {
    let folder = model("");
    let manifest = model("rgat.toml");
    let named = ["--name", "a", "--engine", "torch", "--model", &manifest, "--threads", "1"];
    SutNode::try_start_in(Path::new(&folder), "127.0.0.1:0", &[&named[..], args].concat())
}

#[test]
fn nodes_of_a_graph_have_the_same_class_in_any_batch() {
    for args in [&[][..], &["--max-batch", "1"], &["--max-batch", "7"], &["--batch-sizes", "16"]] {
        let node = graph_node(args).expect("a node");
        let run = accuracy_run(&node, "rgat-nodes.npy", &["--benchmark", "rgat"]);
        let outcome = run.run().expect(0);
        assert_same(&outcome, &expected("rgat-answers.npy"));
        assert!(outcome.stdout.contains("accuracy_igbh.py"), "{}", outcome.stdout);
    }
    let distinct: std::collections::HashSet<_> = expected("rgat-answers.npy").into_iter().collect();
    assert!(distinct.len() > 3, "a network with a single output would pass any test");
}

#[test]
fn a_node_beyond_the_graph_ends_the_run_and_a_node_without_its_graph_does_not_start() {
    let node = graph_node(&[]).expect("a node");
    for number in [300_i64, -1] {
        let run = LoadGen::new(&[&node.address], "offline");
        let samples = npy("<i8", "(2, 1)", [7, number].into_iter().flat_map(i64::to_le_bytes));
        let samples = run.file("nodes.npy", samples);
        run.data("x", &samples)
            .accuracy()
            .run()
            .expect_failure(&format!("node {number}; the graph has nodes 0 to 299"));
    }
    assert_refused(try_torch(&["--model", &model("rgat.toml")]), "rgat-graph");
}

/// Maximum difference of a pixel between processors (`tests/models/README.md`).
const PIXEL: u8 = 2;

#[test]
fn a_prompt_gives_its_image_with_the_ids_of_both_tokenizers_or_of_one() {
    let both = "stable-diffusion-xl-ids.npy+stable-diffusion-xl-ids2.npy";
    for (manifest, samples, args) in [
        ("stable-diffusion-xl.toml", both, ["--max-batch", "6"]),
        ("stable-diffusion-xl.toml", both, ["--batch-sizes", "4"]),
        ("stable-diffusion-xl-ids.toml", "stable-diffusion-xl-ids.npy", ["--max-batch", "3"]),
    ] {
        let node = torch(manifest, &[&["--threads", "1"], &args[..]].concat());
        for scenario in ["offline", "server"] {
            let parts: Vec<_> = samples.split('+').map(model).collect();
            let outcome = LoadGen::new(&[&node.address], scenario)
                .accuracy()
                .args(&["--dataset", &parts.join("+"), "--benchmark", "x"])
                .set("server_target_qps=10")
                .run()
                .expect(0);
            let (got, want) = (responses(&outcome), expected("stable-diffusion-xl-answers.npy"));
            assert_eq!(got.len(), want.len(), "each sample once");
            for (sample, (got, want)) in got.iter().zip(&want).enumerate() {
                assert_eq!(got.len(), want.len(), "bytes of sample {sample}");
                let off = got.iter().zip(want).map(|(got, want)| got.abs_diff(*want)).max();
                assert!(off <= Some(PIXEL), "sample {sample} is off by {off:?}");
            }
        }
    }
}

#[test]
fn an_id_beyond_the_vocabulary_and_a_prompt_without_end_end_the_run() {
    let node = torch("stable-diffusion-xl-ids.toml", &["--threads", "1", "--max-batch", "2"]);
    for (id, want) in [(1 << 20, "; ids go from 0 to"), (0, "a prompt without its end")] {
        let run = LoadGen::new(&[&node.address], "offline");
        let ids = std::iter::repeat_n(i32::to_le_bytes(id), 77).flatten();
        let samples = run.file("ids.npy", npy("<i4", "(1, 77)", ids));
        run.data("x", &samples).accuracy().run().expect_failure(want);
    }
}

#[test]
fn a_jpeg_that_is_none_ends_the_run_and_not_the_node() {
    let node = torch("resnet50-jpeg.toml", &[]);
    let run = LoadGen::new(&[&node.address], "offline");
    run.file("pictures/5.jpg", "a text");
    let folder = run.folder().join("pictures").display().to_string();
    for n in (0..8).filter(|n| *n != 5) {
        let picture = model(&format!("resnet50-jpeg/{n}.jpg"));
        std::fs::copy(picture, format!("{folder}/{n}.jpg")).expect("a writable path");
    }
    run.data("x", &folder).accuracy().run().expect_failure("not a JPEG that can be decoded");
    let labels = expected("resnet50-answers.npy");
    assert_same(&accuracy_run(&node, "resnet50-jpeg", &[]).run().expect(0), &labels);
}

#[test]
fn samples_of_another_size_are_refused_before_the_run() {
    let node = torch("resnet50.toml", &[]);
    let run = accuracy_run(&node, "resnet50-fp32.npy", &[]);
    run.run().expect_refusal("float32[3, 64, 64]");
    let node = torch("bert.toml", &[]);
    accuracy_run(&node, "bert-ids", &[]).run().expect_refusal("int32[?] + int32[?] + int32[?]");
}

#[test]
fn samples_that_disagree_in_length_or_are_too_long_end_the_run() {
    let node = torch("bert.toml", &[]);
    for (lengths, want) in [([5, 5, 4], "differ in length"), ([70, 70, 70], "1 to 64 are allowed")]
    {
        let run = LoadGen::new(&[&node.address], "offline");
        let one = |name: &str, length: usize| {
            let ones = std::iter::repeat_n([1, 0, 0, 0], length).flatten();
            run.file(name, npy("<i4", &format!("(1, {length})"), ones))
        };
        let parts = [one("i.npy", lengths[0]), one("m.npy", lengths[1]), one("s.npy", lengths[2])];
        let dataset = parts.join("+");
        run.data("x", &dataset).accuracy().run().expect_failure(want);
    }
}

/// Writes a changed copy of a fixture's manifest beside the model.
fn changed(manifest: &str, from: &str, to: &str) -> (Folder, String) {
    let folder = Folder::create();
    let text = std::fs::read_to_string(model(manifest)).expect("a fixture");
    assert!(text.contains(from), "{text}");
    let path = folder.write("changed.toml", text.replace(from, to));
    for file in ["digits.pt", "bert.pt"] {
        std::fs::copy(model(file), folder.path(file)).expect("a writable path");
    }
    (folder, path)
}

fn try_torch(args: &[&str]) -> Result<SutNode, String> {
    SutNode::try_start("a", &[&["--engine", "torch"], args].concat())
}

#[test]
fn models_that_do_not_fit_their_manifest_are_refused_with_the_difference() {
    for (from, to, want) in [
        ("shape = [10]", "shape = [11]", "has the shape [32, 10], the manifest says [32, 11]"),
        (
            "\"logits\"\ndata_type = \"float32\"",
            "\"logits\"\ndata_type = \"int64\"",
            "must be float32",
        ),
        ("shape = [1, 8, 8]", "shape = [1, 8, 16]", "cannot be served"),
        (
            "image-classification",
            "image-classifying",
            "expected one of `tensors`, `image-classification`",
        ),
        (
            "precision = \"fp32\"",
            "precision = \"fp8\"",
            "expected one of `fp32`, `tf32`, `fp16`, `bf16`",
        ),
        ("digits.pt", "nowhere.pt", "cannot read the model"),
        ("digits.pt", "changed.toml", "cannot be served"),
        ("[[inputs]]", "colour = 3\n[[inputs]]", "unknown field `colour`"),
        ("uint8", "uint9", "expected one of `uint8`, `int8`"),
    ] {
        let (_folder, manifest) = changed("digits.toml", from, to);
        let log = try_torch(&["--model", &manifest]).expect_err("must be refused");
        assert!(log.contains(want) && !log.contains("panic"), "{to}: {log}");
    }
    let (_folder, manifest) = changed(
        "bert.toml",
        "\"start_logits\"\ndata_type = \"float32\"\nshape = [\"tokens\"]",
        "\"start_logits\"\ndata_type = \"float32\"\nshape = [\"words\"]",
    );
    assert_refused(try_torch(&["--model", &manifest]), "\"words\" is missing in the inputs");
}

#[test]
fn a_damaged_model_is_refused() {
    let (folder, manifest) = changed("digits.toml", "fp32", "fp32");
    let whole = std::fs::read(folder.path("digits.pt")).expect("a fixture");
    for damaged in [&whole[..whole.len() / 2], b"", b"not a model"] {
        folder.write("digits.pt", damaged);
        assert_refused(try_torch(&["--model", &manifest]), "digits.pt cannot be served");
    }
}

#[test]
fn devices_that_are_absent_are_refused_with_those_that_are_there() {
    let manifest = model("digits.toml");
    for device in ["cuda:99", "tpu", ""] {
        let started = try_torch(&["--model", &manifest, "--devices", device]);
        assert_refused(started, &format!("there is no device {device}"));
    }
    assert_refused(try_torch(&[]), "need --model");
}

#[test]
fn devices_says_what_there_is_and_why_not() {
    let devices =
        |libtorch: &str| Ended::of(command("sut-node").arg("devices").env("LIBTORCH", libtorch));
    let found = devices(&std::env::var("LIBTORCH").expect("cargo sets it"));
    let text = found.expect_text(0, "torch (libtorch 2.11)").stdout;
    assert!(text.lines().any(|line| line.trim_start().starts_with("cpu ")), "{text}");

    let nowhere = devices(&Folder::create().path(""));
    let is_named = nowhere.stderr.contains("has no libtorch_cpu.so");
    assert!(nowhere.code != Some(0) && is_named, "{nowhere:#?}");
}

/// A `sut-node` without libtorch serves all engines except torch.
#[test]
fn a_node_needs_no_libtorch_for_other_engines() {
    let ran = Command::new("ldd").arg(program("sut-node")).output().expect("ldd");
    let libraries = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(!libraries.contains("torch") && libraries.contains("libc.so"), "{libraries}");
}

/// Creates a run in one process, with the engine torch and a model of the fixtures.
fn in_one_process(scenario: &str, manifest: &str) -> LoadGen {
    let run = LoadGen::in_one_process(scenario);
    let settings = format!("engine = \"torch\"\nmodel = {:?}\nname = \"x\"\n", model(manifest));
    let settings = run.file("node.toml", settings);
    run.args(&["--in-process", &settings]).accuracy()
}

#[test]
fn a_run_in_one_process_gives_the_same_answers_and_says_what_it_is() {
    let run = in_one_process("offline", "resnet50.toml").data("x", &model("resnet50-uint8.npy"));
    let outcome = run.run().expect(0);
    assert_same(&outcome, &expected("resnet50-answers.npy"));
    let result = outcome.result();
    assert_eq!(result["transport"], "in-process");
    assert_eq!(result["sut_name"], "netdiv in-process SUT (not a Network division run)");
    assert!(outcome.stdout.contains("this is not a Network division run"), "{}", outcome.stdout);
}

#[test]
fn a_failure_in_one_process_ends_the_run_with_its_reason() {
    for scenario in ["offline", "single-stream"] {
        let run = in_one_process(scenario, "resnet50-jpeg.toml").data("x", "synthetic:8x100");
        run.run().expect_failure("not a JPEG that can be decoded");
    }
}

#[test]
fn the_tax_is_the_ratio_of_a_network_run_and_one_without() {
    let folder = Folder::create();
    folder.write("node.toml", "engine = \"echo\"\n");
    let mut tax = command("loadgen-node");
    tax.current_dir(folder.root());
    tax.args(["tax", "--rounds", "2", "--node-config", "node.toml", "--", "--scenario", "offline"]);
    tax.args(["--benchmark", "x", "--dataset", "synthetic:10x100"]);
    tax.args(["--setting", "min_duration_ms=200", "--setting", "offline_expected_qps=1000"]);
    Ended::of(&mut tax).expect_text(0, "median").expect_text(0, "; rounds: 2\n");
    assert!(folder.root().join("out/tax/2-in-process/result.json").is_file());
}
