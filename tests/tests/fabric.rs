//! The bandwidth test of the fabric, and messages as long as the longest of the benchmarks.

use std::{fs, path::Path, process::Command};

use e2e::{LoadGen, SutNode, process::program};
use serde_json::Value;

const TRANSPORTS: [&str; 2] = ["grpc", "quic"];

/// Runs `loadgen-node fabric` with short measurements; gives exit code, both outputs as one text, and the report.
fn fabric(nodes: &[&SutNode], args: &[&str]) -> (Option<i32>, String, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
    let output = Command::new(program("loadgen-node"))
        .args(["fabric", "--nodes", &addresses.join(","), "--duration", "50ms"])
        .args(args)
        .current_dir(folder.path())
        .output()
        .expect("loadgen-node starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let read =
        |name: &str| fs::read_to_string(Path::new(folder.path()).join("out/fabric").join(name));
    let report = match read("fabric.json") {
        Ok(json) => {
            assert!(read("fabric.svg").is_ok_and(|svg| svg.starts_with("<svg")));
            serde_json::from_str(&json).expect("JSON")
        }
        Err(_) => Value::Null,
    };
    (output.status.code(), text, report)
}

#[test]
fn every_figure_is_there_over_both_transports() {
    let nodes = ["a", "b"].map(|name| SutNode::start(name, &["--engine", "none"]));
    for transport in TRANSPORTS {
        let args = ["--transport", transport, "--sizes", "64,300000", "--connections", "2"];
        let target = ["--target", "resnet50=1,3d-unet=1000000000"];
        let (code, text, report) = fabric(&[&nodes[0], &nodes[1]], &[&args[..], &target].concat());
        assert_eq!(code, Some(1), "{text}");
        assert!(
            text.contains("NOT CARRIED")
                && text.contains("by lo (loopback, which does not say its speed")
        );
        assert_eq!(report["transport"], transport);
        let list = |key: &str| report[key].as_array().expect("a list").clone();
        assert_eq!(list("round_trips").len(), 4, "two sizes, two nodes");
        for trip in list("round_trips") {
            assert!(
                trip["count"].as_u64() > Some(0) && trip["p50_ns"].as_u64() > Some(0),
                "{trip}"
            );
        }
        assert_eq!(list("bandwidth").len(), 6, "two sizes, three directions");
        for cell in list("bandwidth") {
            let number = |rate: &Value, key: &str| rate[key].as_f64().expect("a number");
            let sum = |parts: &str, key: &str| -> f64 {
                cell[parts].as_array().expect("a list").iter().map(|rate| number(rate, key)).sum()
            };
            for key in ["messages_per_second", "bytes_per_second_to_nodes"] {
                let total = number(&cell["total"], key);
                assert!(total > 0.0, "{cell}");
                assert!((sum("nodes", key) / total - 1.0).abs() < 1e-6, "{cell}");
                assert!((sum("streams", key) / total - 1.0).abs() < 1e-6, "{cell}");
            }
            assert_eq!(cell["streams"].as_array().map(Vec::len), Some(4));
            let sent = cell["message_bytes"].as_f64().expect("a size").max(16.0);
            let of_one = number(&cell["total"], "bytes_per_second_from_nodes")
                / number(&cell["total"], "messages_per_second");
            let expected = if cell["direction"] == "to nodes" { 0.0 } else { sent };
            assert!((of_one - expected).abs() < 1e-3, "{of_one} bytes come back: {cell}");
        }
        let carried = |name: &str| {
            let found = list("benchmarks").into_iter().find(|benchmark| benchmark["name"] == name);
            found.map(|benchmark| benchmark["carried"].clone())
        };
        assert_eq!(carried("resnet50"), Some(true.into()));
        assert_eq!(carried("3d-unet"), Some(false.into()));
        assert_eq!(carried("bert"), Some(Value::Null), "no target was given");
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let none = SutNode::start("a", &["--engine", "none", "--max-payload-bytes", "1000"]);
    let model = SutNode::start("b", &[]);
    for (node, args, words) in [
        (
            &model,
            ["--sizes", "64"],
            "node b runs the engine onnx; for this test start it with --engine none",
        ),
        (&none, ["--sizes", "2000"], "raise --max-payload-bytes there"),
        (&none, ["--sizes", "0"], "--sizes 0: must be from 1 to 268435456"),
        (&none, ["--target", "resnet=5"], "choose one of resnet50, "),
        (&none, ["--target", "resnet50=much"], "`much` is not a number above 0"),
    ] {
        let (code, text, report) = fabric(&[node], &args);
        assert_eq!(code, Some(2), "{args:?}: {text}");
        assert!(text.contains(words), "{args:?}: {text}");
        assert_eq!(report, Value::Null);
    }
}

#[test]
fn volumes_pass_beside_small_samples_in_bounded_memory() {
    let limits = ["--max-payload-bytes", "240000000", "--max-in-flight-bytes", "256000000"];
    let echo = ["--echo-answer-bytes", "0", "--max-batch", "1"];
    for transport in TRANSPORTS {
        let node = SutNode::echo("a", &[&limits[..], &echo].concat());
        let run = |scenario: &str, dataset: &str, qps: u64, milliseconds: u64| {
            LoadGen::new(&[&node.address], scenario)
                .over(transport)
                .args(&["--benchmark", "fabric", "--dataset", dataset])
                .short(milliseconds, qps)
        };
        // The answer of a text-to-video sample has 225 MB; here the sample has as many.
        let mut long = run("offline", "synthetic:2x225000000", 6, 2000).start();
        long.wait_for_test();
        // Small ones, one at a time, meanwhile.
        let short = run("single-stream", "synthetic:64x1000", 1000, 100).run();
        assert!(long.is_running(), "{transport}: the long ones were over too soon");
        let slowest = short.result()["loadgen_latency_ns"]["max"].as_u64();
        assert!(slowest < Some(2_000_000_000), "{transport}: {slowest:?} ns");
        let outcome = long.wait();
        let result = outcome.result();
        assert_eq!(result["samples"]["lost"], 0, "{outcome:#?}");
        assert_eq!(result["nodes"][0]["bytes_received"], result["nodes"][0]["bytes_sent"]);
        // The one that is admitted, the one that is being read, and the one that is being sent.
        let peak = node.peak_resident_bytes();
        assert!(peak < 1_200_000_000, "{transport}: {peak} bytes");
    }
}
