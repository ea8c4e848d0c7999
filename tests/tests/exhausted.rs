//! Both programs short of descriptors, memory or file size, and signals before a run has begun.
//! Each program ends with a documented exit code and a message, and leaves nothing that blocks the
//! next attempt.

use std::{process::Stdio, thread, time::Duration};

use e2e::{
    Folder, LoadGen, Outcome, SutNode,
    process::{Ended, command, command_after, send_signal, transport},
    sut_node::wait_until_ready,
    wait_until,
};

/// Creates a short run of 64 samples.
fn run(address: &str) -> LoadGen {
    LoadGen::new(&[address], "offline")
        .fabric("64x100")
        .accuracy()
        .args(&["--quiet"])
        .args(&["--connect-timeout", "60s"])
}

/// Asserts that a program exited by itself with one of these codes, and printed an error unless the
/// code is 0.
fn assert_ended(code: Option<i32>, codes: &[i32], said: &str, limit: &str) {
    assert!(code.is_some_and(|code| codes.contains(&code)), "{limit}: {code:?}\n{said}");
    assert!(code == Some(0) || said.contains("ERROR"), "{limit}: no error\n{said}");
    for wrong in ["panicked", "memory allocation of", "terminate called"] {
        assert!(!said.contains(wrong), "{limit}:\n{said}");
    }
}

/// Asserts that a run exited as [`assert_ended`] requires, looks complete only if it is, and did
/// not wait for an impossible event.
fn assert_run_ended(outcome: &Outcome, limit: &str) {
    let said = [outcome.stderr.as_str(), &outcome.stdout].concat();
    assert!(outcome.code == Some(0) || said.contains("limit") || said.contains("memory"), "{said}");
    assert_ended(outcome.code, &[0, 2, 3], &said.replace("FAILED", "ERROR"), limit);
    assert!(outcome.time < Duration::from_secs(30), "{limit}: {outcome:#?}");
    let left = |name: &str| outcome.path(name).exists();
    assert!(!left("run.lock") && !left("trial-0.part"), "{limit}: {outcome:#?}");
    let is_complete = left("result.json") && outcome.result()["verdict"] == "COMPLETE";
    assert_eq!(is_complete, outcome.code == Some(0), "{limit}: {outcome:#?}");
    // A refused run can be repeated with the same folder.
    let has_logs = left("mlperf_log_detail.txt") || left("result.json");
    assert!(outcome.code != Some(2) || !has_logs, "{limit}: {outcome:#?}");
}

/// Calls a function with each number, in four threads.
fn for_each(numbers: impl Iterator<Item = u32>, call: impl Fn(u32) + Sync) {
    let numbers: Vec<_> = numbers.collect();
    thread::scope(|scope| {
        for part in numbers.chunks(numbers.len().div_ceil(4)) {
            let call = &call;
            scope.spawn(move || part.iter().for_each(|number| call(*number)));
        }
    });
}

#[test]
fn a_run_with_too_few_descriptors_ends_with_words_wherever_it_finds_out() {
    let node = SutNode::echo("a", &[]);
    for_each(8..=40, |files| {
        let limit = format!("ulimit -n {files}");
        let outcome = run(&node.address).after_commands(&limit).run();
        assert_run_ended(&outcome, &limit);
        assert!(files < 40 || outcome.code == Some(0), "{outcome:#?}");
    });
}

#[test]
fn too_few_descriptors_for_connections_are_reported_at_once() {
    let node = SutNode::echo("a", &[]);
    let localhost = node.address.replace("127.0.0.1", "localhost");
    for address in [&node.address, &localhost] {
        let run = run(address).args(&["--connections", "60"]).after_commands("ulimit -n 40").run();
        assert_run_ended(&run, "60 connections");
        run.expect_refusal("raise the limit of open files");
    }
}

#[test]
fn a_run_with_too_little_memory_is_refused() {
    let node = SutNode::echo("a", &[]);
    for_each((1..=25).map(|step| step * 16), |mebibytes| {
        let limit = format!("ulimit -v {}", mebibytes << 10);
        if is_loaded(&limit, "loadgen-node") {
            assert_run_ended(&run(&node.address).after_commands(&limit).run(), &limit);
        }
    });
}

/// Returns true if the system can load the program within the limit. Below that, the loader reports
/// the error.
fn is_loaded(limit: &str, name: &str) -> bool {
    Ended::of(command_after(limit, name).arg("--version")).code.is_some_and(|code| code <= 2)
}

#[test]
fn a_node_with_too_little_memory_or_too_few_descriptors_does_not_start() {
    let memory = (1..=25).map(|step| format!("ulimit -v {}", step * (16 << 10)));
    let files = (8..=40).map(|files| format!("ulimit -n {files}"));
    let limits: Vec<_> = memory.chain(files).collect();
    for_each(0..limits.len() as u32, |number| {
        let limit = limits[number as usize].as_str();
        if !is_loaded(limit, "sut-node") {
            return;
        }
        let folder = Folder::create();
        let ready = folder.root().join("ready.json");
        let mut node = command_after(limit, "sut-node")
            .args(["--engine", "echo", "--name", "a", "--listen", "127.0.0.1:0", "--ready-file"])
            .arg(&ready)
            .stderr(Stdio::piped())
            .spawn()
            .expect("bash starts");
        let is_ready = wait_until_ready(&ready, &mut node).is_some();
        if is_ready {
            send_signal(node.id(), "-TERM");
        }
        let output = node.wait_with_output().expect("a child process");
        let said = String::from_utf8_lossy(&output.stderr);
        let code = if is_ready { 0 } else { 2 };
        assert_ended(output.status.code(), &[code], &said, limit);
    });
}

#[test]
fn certificates_that_cannot_be_written_leave_no_files() {
    // The system refuses each write, with a signal that kills the program unless the shell ignores
    // it.
    for (commands, code) in [("trap '' XFSZ; ulimit -f 0", Some(2)), ("ulimit -f 0", None)] {
        let folder = Folder::create();
        let args = ["certificates", "--hosts", "a,b", "--keep-authority", "--output"];
        let make = |commands| {
            let mut make = command_after(commands, "loadgen-node");
            Ended::of(make.args(args).arg(folder.root()))
        };
        let refused = make(commands);
        assert_eq!(refused.code, code, "{refused:#?}");
        let said = refused.stderr;
        assert!(code.is_none() || said.contains("raise the limit of the size of files"), "{said}");
        make("true").expect(0);
        assert_eq!(folder.root().read_dir().expect("a writable path").count(), 8);
    }
}

/// Waits until a process handles SIGINT.
fn wait_until_it_listens(process: u32) {
    wait_until("it handles SIGINT", || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        caught.is_some_and(|mask| mask >> 1 & 1 == 1)
    });
}

#[test]
fn a_signal_ends_a_run_that_has_not_begun() {
    let frozen = SutNode::echo("a", &[]);
    frozen.signal("-STOP");
    // The first address has no listener; the second accepts connections and sends nothing.
    for (address, signal) in [("127.0.0.1:1", "INT"), (frozen.address.as_str(), "TERM")] {
        let running = run(address).args(&["--control-timeout", "60s"]).start();
        let lock = running.log().with_file_name("run.lock");
        wait_until("the run has its folder", || lock.exists());
        send_signal(running.id(), &format!("-{signal}"));
        let outcome = running.wait().expect(3);
        assert!(outcome.stderr.contains(&format!("interrupted by SIG{signal}")), "{outcome:#?}");
        let left: Vec<_> = outcome.path("").read_dir().expect("its folder").collect();
        assert!(left.is_empty(), "{left:?}");
    }
    frozen.signal("-CONT");
}

#[test]
fn a_signal_ends_every_command_that_waits_for_nodes() {
    let names = ["run", "nodes", "probe", "fabric", "doctor"];
    let digits = ["--benchmark", "digits"];
    let of_a_run =
        |name| if matches!(name, "run" | "probe" | "doctor") { &digits[..] } else { &[] };
    let folder = Folder::create();
    let start = |name: &'static str| {
        let mut command = command("loadgen-node");
        command.arg(name).args(["--nodes", "127.0.0.1:1", "--transport", transport()]);
        command.args(["--connect-timeout", "60s"]).args(of_a_run(name));
        command.args(if name == "run" { &["--scenario", "offline"][..] } else { &[] });
        command.current_dir(folder.root()).stderr(Stdio::piped());
        (name, command.spawn().expect("loadgen-node starts"))
    };
    for (name, child) in names.map(start) {
        wait_until_it_listens(child.id());
        send_signal(child.id(), "-INT");
        let ended = Ended::from(child.wait_with_output().expect("a child process"));
        let is_named = ended.stderr.contains("interrupted by SIGINT");
        assert!(ended.code == Some(3) && is_named, "{name}: {ended:#?}");
    }
    assert!(!folder.root().join("out/digits-offline-performance/run.lock").exists());
}
