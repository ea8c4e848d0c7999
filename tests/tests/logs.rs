//! JSON logs of both programs, whatever their subject.

use e2e::{
    LoadGen, SutNode,
    process::{Ended, command},
};
use serde_json::Value;

/// Parses a log, which has one JSON object per line.
fn objects(log: &str) -> Vec<Value> {
    let object = |line: &str| {
        let object: Value =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}\n{log}"));
        for key in ["timestamp", "level", "target"] {
            assert!(object[key].is_string(), "no {key}: {line}");
        }
        assert!(object["fields"]["message"].is_string(), "no message: {line}");
        object
    };
    log.lines().map(object).collect()
}

/// Returns a filter for objects that contain this text at this level.
fn says<'a>(level: &'a str, words: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |object| object["level"] == level && object["fields"].to_string().contains(words)
}

#[test]
fn a_run_and_its_node_log_json_alone() {
    let mut node = SutNode::start("a", &["--log-format", "json"]);
    let node_log = node.log();
    let run = LoadGen::new(&[&node.address], "offline").accuracy();
    let run = run.transport("grpc").env("NETDIV_LOG_FORMAT", "json").run().expect(0);
    node.signal("-TERM");
    let (run, node) = (objects(&run.stderr), objects(&node_log.join().expect("read")));
    assert!(run.iter().any(says("INFO", "connected")), "{run:#?}");
    assert!(
        node.iter().any(says("INFO", "ready")) && node.iter().any(says("INFO", "ended")),
        "{node:#?}"
    );
    // No client came over QUIC.
    assert!(!node.iter().any(says("INFO", "small socket buffers")), "{node:#?}");
}

#[test]
fn a_run_that_fails_logs_json_alone() {
    let mut node = SutNode::echo("a", &["--log-format=json"]);
    let node_log = node.log();
    let run = LoadGen::new(&[&node.address], "server").short(60_000, 100);
    let run = run.args(&["--log-format", "json"]).start();
    run.wait_for_test();
    node.signal("-KILL");
    let run = run.wait().expect(3);
    assert!(!objects(&run.stderr).is_empty(), "{}", run.stderr);
    objects(&node_log.join().expect("read"));
}

#[test]
fn a_start_that_fails_logs_json_alone() {
    let hostile = "a\u{1b}[2J\u{202e}\"}\n{\"level\":\"INFO\"}\u{9b}";
    let long = "ü\"".repeat(20_000);
    let ended = |program: &str, args: &[&str], format: &str| {
        Ended::of(command(program).args(args).env("NETDIV_LOG_FORMAT", format))
    };
    let refused = |program: &str, args: &[&str], format: &str| {
        let Ended { code, stderr: log, .. } = ended(program, args, format);
        assert_ne!(code, Some(0), "{args:?}");
        let objects = objects(&log);
        assert!(objects.iter().any(|object| object["level"] == "ERROR"), "{args:?}: {log}");
        assert!(!log.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{log}");
        log
    };
    for text in [hostile, &long] {
        refused("sut-node", &["--name", text], "json");
        refused("sut-node", &["--config", text, "--log-format", "json"], "text");
        refused("sut-node", &["--nonsense", text, "--log-format", "json"], "text");
        refused("loadgen-node", &["nodes", "--nodes", text], "json");
        refused(
            "loadgen-node",
            &["run", "--log-format=json", "--nodes", text, "--scenario", text],
            "",
        );
        refused("loadgen-node", &["check", text], "json");
    }
    let log = refused("loadgen-node", &["run", "--log-format", "json"], "");
    assert!(log.contains("no scenario"), "{log}");

    // A wrong log format is reported as text.
    for (name, args, variable) in [
        ("sut-node", &["--log-format", "xml"][..], ""),
        ("loadgen-node", &["nodes", "--log-format", "xml"], ""),
        ("sut-node", &[], "xml"),
        ("loadgen-node", &["benchmarks"], "xml"),
    ] {
        let log = ended(name, args, variable).expect(2).stderr;
        assert!(log.contains("xml") && log.contains("text") && log.contains("json"), "{log}");
    }
    // Help is not a log line.
    let help = ended("loadgen-node", &["--help"], "json").expect_text(0, "--log-format");
    assert_eq!(help.stderr, "");
}
