//! Options of a network measurement: egress interface, DSCP and congestion control.

use std::{path::Path, process::Command};

use e2e::{SutNode, process::program};
use serde_json::Value;

/// Runs `loadgen-node fabric` with short measurements. Returns the exit code, both outputs as one
/// text, and the report.
fn fabric(folder: &Path, args: &[&str]) -> (Option<i32>, String, Value) {
    let output = Command::new(program("loadgen-node"))
        .args(["fabric", "--sizes", "50000", "--connections", "1", "--rounds", "2"])
        .args(["--duration", "100ms", "--warm-up", "20ms", "--output", "out"])
        .args(args)
        .current_dir(folder)
        .output()
        .expect("loadgen-node starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let report = std::fs::read_to_string(folder.join("out/fabric.json"));
    let report = report.map_or(Value::Null, |json| serde_json::from_str(&json).expect("JSON"));
    (output.status.code(), text, report)
}

#[test]
fn the_way_out_is_chosen_or_refused() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let folder = tempfile::tempdir().expect("a folder");
    let nodes = ["--nodes", &node.address];
    for (args, code, words) in [
        (&["--interface", "none0"][..], 2, "--interface none0: "),
        (&["--congestion-control", "none"], 2, "--congestion-control none: "),
        (&["--congestion-control", "reno", "--transport", "quic"], 2, "choose one of cubic,"),
        (&["--dscp", "64"], 2, "--dscp 64: must be from 0 to 63"),
        (&["--dscp", "46", "--transport", "quic"], 2, "use gRPC"),
        (
            &["--interface", "lo", "--dscp", "46", "--congestion-control", "reno"],
            0,
            "egress of this machine: interface lo, code point 46, congestion control reno",
        ),
        (
            &["--interface", "lo", "--congestion-control", "bbr", "--transport", "quic"],
            0,
            "interface lo, congestion control bbr",
        ),
    ] {
        let (found, text, report) = fabric(folder.path(), &[&nodes[..], args].concat());
        assert_eq!(found, Some(code), "{args:?}: {text}");
        assert!(text.contains(words), "{args:?}: {text}");
        assert!(code != 0 || report["interface"] == "lo", "{report}");
    }
    // Nothing on lo answers for an address of a documentation network (RFC 5737).
    for transport in ["grpc", "quic"] {
        let args = ["--nodes", "192.0.2.1:50051", "--interface", "lo", "--transport", transport];
        let args = [&args[..], &["--insecure", "--connect-timeout", "500ms"]].concat();
        let (found, text, _) = fabric(folder.path(), &args);
        assert_ne!(found, Some(0), "{text}");
        assert!(text.contains("answers must arrive on it, too: check the route back"), "{text}");
    }
}

#[test]
fn pictures_of_an_earlier_measurement_are_replaced_or_removed() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join("out").join(name);
    std::fs::create_dir(path("")).expect("a folder");
    for name in ["fabric.svg", "matrix.svg"] {
        std::fs::write(path(name), "an earlier measurement").expect("a file");
    }
    for (args, has_plot) in [(&[][..], true), (&["--soak", "100ms"], false)] {
        let args = [&["--nodes", &node.address], args].concat();
        let (code, text, _) = fabric(folder.path(), &args);
        assert_eq!(code, Some(0), "{text}");
        let plot = std::fs::read_to_string(path("fabric.svg"));
        assert_eq!(plot.is_ok_and(|svg| svg.starts_with("<svg")), has_plot, "{text}");
        assert_eq!((path("fabric.svg").exists(), path("matrix.svg").exists()), (has_plot, false));
    }
}
