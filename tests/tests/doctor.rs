//! `doctor` of both programs, on this machine: it ends, reports its findings, and needs no node.

use std::process::Command;

use e2e::{
    Folder, SutNode,
    ports::free_address,
    process::{Ended, command_after, program, transport},
};
use serde_json::Value;

/// Runs `doctor` of a program within limits of a shell.
fn doctor(name: &str, limits: &str, args: &[&str]) -> Ended {
    Ended::of(command_after(limits, name).arg("doctor").args(args))
}

/// Runs `doctor` with `--json`. Asserts that the exit code matches the findings, and returns the
/// report.
fn report(name: &str, limits: &str, args: &[&str]) -> Value {
    let ended = doctor(name, limits, &[args, &["--json"]].concat());
    let report = ended.json();
    let is_problem = |finding: &Value| finding["severity"] == "problem";
    let problems = report["findings"].as_array().expect("a list").iter().any(is_problem);
    assert_eq!(ended.code, Some(i32::from(problems)), "{report:#}");
    report
}

/// Without limits.
const NO_LIMIT: &str = "true";

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
        let report = report(name, NO_LIMIT, args);
        assert!(report["program"].as_str().is_some_and(|p| p.starts_with(name)), "{report:#}");
        for finding in report["findings"].as_array().expect("a list") {
            let has = |key: &str| finding[key].as_str().is_some_and(|text| !text.is_empty());
            assert!(has("about") && has("seen") && has("cost"), "{finding:#}");
            assert!(has("command") != has("advice"), "{finding:#}");
        }
        let text = doctor(name, NO_LIMIT, args).stdout;
        assert!(text.lines().last().is_some_and(|line| line.contains(" problem")), "{text}");
    }
}

#[test]
fn a_limit_of_this_process_is_a_problem_and_is_told_with_its_figure() {
    for (name, limits) in [("sut-node", "ulimit -n 150"), ("loadgen-node", "ulimit -Sn 60")] {
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
        |nodes: &str| report("loadgen-node", NO_LIMIT, &[&["--nodes", nodes], &over[..]].concat());
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
    doctor("loadgen-node", NO_LIMIT, &[&["--nodes", &unused], &over[..]].concat())
        .expect_text(1, &format!("problem: node-unusable ({unused})"));
}

#[test]
fn every_node_gets_a_sample_of_the_run() {
    let folder = Folder::create();
    let short = folder.write("short.npy", e2e::npy("|u1", "(2, 3)", [1; 6]));
    let (node, output) = (SutNode::start("a", &[]), folder.path("out"));
    let look = |dataset: &str| {
        let nodes = ["--nodes", &node.address, "--transport", transport(), "--output", &output];
        let run = ["--benchmark", "digits", "--dataset", dataset];
        report("loadgen-node", NO_LIMIT, &[&nodes[..], &run].concat())
    };
    let good = look("digits");
    assert_eq!(good["sample"]["bytes"], 64, "{good:#}");
    assert_eq!(good["nodes"][0]["answers"].as_array().map(Vec::len), Some(2), "{good:#}");
    // The data set exists, but its samples do not fit the node.
    let bad = look(&short);
    let missing = found(&bad, "answer-missing");
    assert!(missing.len() == 1 && missing[0].1.contains("the data set holds uint8[3]"), "{bad:#}");
    // A sample that is longer than any message cannot be sent.
    let long = look("synthetic:1x2000000000");
    assert!(!found(&long, "run-refused").is_empty(), "{long:#}");
}

#[test]
fn a_run_that_would_be_refused_is_a_problem() {
    let folder = Folder::create();
    let output = folder.path("out");
    let run = |more: &[&str]| {
        let run = ["--benchmark", "digits", "--scenario", "offline", "--output", &output];
        report("loadgen-node", NO_LIMIT, &[&run, more].concat())
    };
    assert_eq!(found(&run(&[]), "run-refused"), []);
    let missing = found(&run(&["--dataset", "nowhere.npy"]), "run-refused");
    assert!(missing.len() == 1 && missing[0].1.contains("nowhere.npy"), "{missing:?}");
    let large = found(&run(&["--dataset", "synthetic:100000000x1000000"]), "run-refused");
    assert!(large.len() == 1 && large[0].1.contains("bytes of memory are needed"), "{large:?}");
    let full = found(&run(&["--min-free-bytes", "4000PiB"]), "disk-space");
    assert!(full.len() == 1 && full[0].1.contains("bytes free"), "{full:?}");
    assert!(!folder.root().join("out").exists(), "doctor writes nothing");
}

#[test]
fn the_report_goes_into_a_file_and_a_warning_can_count() {
    let folder = Folder::create();
    let text = doctor("sut-node", NO_LIMIT, &["--json", &folder.path("report.json")]).stdout;
    assert!(text.lines().last().is_some_and(|line| line.contains(" problem")), "{text}");
    let all = folder.json("report.json")["findings"].as_array().expect("a list").len();
    doctor("sut-node", NO_LIMIT, &["--fail-on", "note"]).expect(i32::from(all > 0));
    for name in ["sut-node", "loadgen-node"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let done = Command::new(program(name)).arg("doctor").stdout(full).output();
        assert_eq!(done.expect("it starts").status.code(), Some(3), "{name}");
    }
    let nowhere = folder.path("nowhere/report.json");
    for name in ["sut-node", "loadgen-node"] {
        let ended = doctor(name, NO_LIMIT, &["--json", &nowhere]).expect_text(3, &nowhere);
        assert_eq!(ended.stdout, "", "{name}");
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
        let ended = doctor(name, NO_LIMIT, args).expect_text(2, words);
        assert_eq!(ended.stdout, "", "{name} {args:?}");
    }
}
