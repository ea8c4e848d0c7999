//! `doctor` of both programs, on this machine: it ends, reports its findings, and needs no node.

use std::process::Command;

use e2e::{
    SutNode,
    ports::free_address,
    process::{program, transport},
};
use serde_json::Value;

/// Runs `doctor` of a program within limits of a shell. Returns its exit code, standard output and
/// standard error.
fn doctor(name: &str, limits: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let done = Command::new("bash")
        .args(["-c", &format!("{limits} exec \"$0\" doctor \"$@\"")])
        .arg(program(name))
        .args(args)
        .env_remove("RUST_LOG")
        .output()
        .expect("there is a shell");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

/// Runs `doctor` with `--json`. Asserts that the exit code matches the findings, and returns the
/// report.
fn report(name: &str, limits: &str, args: &[&str]) -> Value {
    let (code, out, log) = doctor(name, limits, &[args, &["--json"]].concat());
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{log}"));
    let is_problem = |finding: &Value| finding["severity"] == "problem";
    let problems = report["findings"].as_array().expect("a list").iter().any(is_problem);
    assert_eq!(code, Some(i32::from(problems)), "{report:#}");
    report
}

/// Returns subject and observation of each finding with this id.
fn found(report: &Value, id: &str) -> Vec<(String, String)> {
    let findings = report["findings"].as_array().expect("a list");
    let text = |finding: &Value, key: &str| finding[key].as_str().expect("text").to_owned();
    let one = |finding: &Value| (text(finding, "about"), text(finding, "seen"));
    findings.iter().filter(|finding| finding["id"] == id).map(one).collect()
}

#[test]
fn both_programs_look_at_this_machine_without_a_node() {
    let node: &[&str] = &["--listen", "0.0.0.0:50051", "--insecure"];
    for (name, args) in [("sut-node", node), ("sut-node", &[]), ("loadgen-node", &[])] {
        let report = report(name, "", args);
        assert!(report["program"].as_str().is_some_and(|p| p.starts_with(name)), "{report:#}");
        for finding in report["findings"].as_array().expect("a list") {
            let has = |key: &str| finding[key].as_str().is_some_and(|text| !text.is_empty());
            assert!(has("about") && has("seen") && has("cost"), "{finding:#}");
            assert!(has("command") != has("advice"), "{finding:#}");
        }
        let (_, text, _) = doctor(name, "", args);
        assert!(text.lines().last().is_some_and(|line| line.contains(" problem")), "{text}");
    }
}

#[test]
fn a_limit_of_this_process_is_a_problem_and_is_told_with_its_figure() {
    for (name, limits) in [("sut-node", "ulimit -n 150;"), ("loadgen-node", "ulimit -Sn 60;")] {
        let found = found(&report(name, limits, &[]), "open-files");
        let [(_, seen)] = found.as_slice() else { panic!("{name}: {found:?}") };
        let figure = if name == "sut-node" { "150 files (hard" } else { "60 files (soft" };
        assert!(seen.contains(figure), "{seen}");
    }
}

#[test]
fn nodes_are_asked_and_one_that_is_not_there_is_a_problem_and_no_end() {
    let (a, b) = (SutNode::echo("a", &[]), SutNode::echo("b", &[]));
    let over = ["--transport", transport(), "--connect-timeout", "300ms"];
    let both = format!("{},{}", a.address, b.address);
    let report_of =
        |nodes: &str| report("loadgen-node", "", &[&["--nodes", nodes], &over[..]].concat());
    let healthy = report_of(&both);
    let same: Vec<_> =
        found(&healthy, "same-machine").into_iter().map(|(about, _)| about).collect();
    assert_eq!(same, [format!("node a at {}", a.address), format!("node b at {}", b.address)]);
    assert_eq!(found(&healthy, "node-unusable"), []);
    let unused = free_address();
    let broken = report_of(&format!("{both},{unused}"));
    let gone = found(&broken, "node-unusable");
    assert_eq!(gone.len(), 1, "{broken:#}");
    assert_eq!(gone[0].0, unused);
    assert_eq!(found(&broken, "same-machine").len(), 2, "{broken:#}");
    let (code, text, _) = doctor("loadgen-node", "", &[&["--nodes", &unused], &over[..]].concat());
    assert_eq!(code, Some(1));
    assert!(text.contains(&format!("problem: node-unusable ({unused})")), "{text}");
}

#[test]
fn every_node_gets_a_sample_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (node, short) = (SutNode::start("a", &[]), folder.path().join("short.npy"));
    std::fs::write(&short, e2e::npy("|u1", "(2, 3)", [1; 6])).expect("a writable folder");
    let output = folder.path().join("out").display().to_string();
    let look = |dataset: &str| {
        let nodes = ["--nodes", &node.address, "--transport", transport(), "--output", &output];
        let run = ["--benchmark", "digits", "--dataset", dataset];
        report("loadgen-node", "", &[&nodes[..], &run].concat())
    };
    let good = look("digits");
    assert_eq!(good["sample"]["bytes"], 64, "{good:#}");
    assert_eq!(good["nodes"][0]["answers"].as_array().map(Vec::len), Some(2), "{good:#}");
    // The data set exists, but its samples do not fit the node.
    let bad = look(&short.display().to_string());
    let missing = found(&bad, "answer-missing");
    assert!(missing.len() == 1 && missing[0].1.contains("the data set holds uint8[3]"), "{bad:#}");
    // A sample that is longer than any message cannot be sent.
    let long = look("synthetic:1x2000000000");
    assert!(!found(&long, "run-refused").is_empty(), "{long:#}");
}

#[test]
fn a_run_that_would_be_refused_is_a_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out").display().to_string();
    let run = |more: &[&str]| {
        let run = ["--benchmark", "digits", "--scenario", "offline", "--output", &output];
        report("loadgen-node", "", &[&run, more].concat())
    };
    assert_eq!(found(&run(&[]), "run-refused"), []);
    let missing = found(&run(&["--dataset", "nowhere.npy"]), "run-refused");
    assert!(missing.len() == 1 && missing[0].1.contains("nowhere.npy"), "{missing:?}");
    let large = found(&run(&["--dataset", "synthetic:100000000x1000000"]), "run-refused");
    assert!(large.len() == 1 && large[0].1.contains("bytes of memory are needed"), "{large:?}");
    let full = found(&run(&["--min-free-bytes", "4000PiB"]), "disk-space");
    assert!(full.len() == 1 && full[0].1.contains("bytes free"), "{full:?}");
    assert!(!folder.path().join("out").exists(), "doctor writes nothing");
}

#[test]
fn the_report_goes_into_a_file_and_a_warning_can_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.json");
    let path = file.display().to_string();
    let (_, text, _) = doctor("sut-node", "", &["--json", &path]);
    assert!(text.lines().last().is_some_and(|line| line.contains(" problem")), "{text}");
    let text = std::fs::read_to_string(&file).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let all = report["findings"].as_array().expect("a list").len();
    let (code, ..) = doctor("sut-node", "", &["--fail-on", "note"]);
    assert_eq!(code, Some(i32::from(all > 0)));
    for name in ["sut-node", "loadgen-node"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let done = Command::new(program(name)).arg("doctor").stdout(full).output();
        assert_eq!(done.expect("it starts").status.code(), Some(3), "{name}");
    }
    let nowhere = folder.path().join("nowhere/report.json").display().to_string();
    for name in ["sut-node", "loadgen-node"] {
        let (code, out, log) = doctor(name, "", &["--json", &nowhere]);
        assert_eq!((code, out.as_str()), (Some(3), ""), "{log}");
        assert!(log.contains(&nowhere), "{log}");
    }
}

#[test]
fn settings_that_the_program_refuses_are_refused() {
    let settings: [(&str, &[&str], &str); 6] = [
        ("sut-node", &["--listen", "nowhere"], "--listen nowhere"),
        ("sut-node", &["--listen", "0.0.0.0:1"], "--insecure"),
        ("sut-node", &["--pin", "99999"], "core 99999"),
        ("loadgen-node", &["--nodes", "far:1"], "--insecure"),
        ("loadgen-node", &["--in-process", "node.toml"], "leave --in-process out"),
        ("loadgen-node", &["--fail-on", "anything"], "anything"),
    ];
    for (name, args, words) in settings {
        let (code, out, log) = doctor(name, "", args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{name} {args:?}: {log}");
        assert!(log.contains(words), "{name} {args:?}: {log}");
    }
}
