//! The live view of a run, and the live line of a measurement, on a pseudo-terminal from `script`.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use e2e::{
    SutNode,
    process::{program, send_signal, transport, wait_until},
};

/// Escape sequence that enters the alternate screen, which [`LEAVE_SCREEN`] leaves.
const ENTER_SCREEN: &str = "\u{1b}[?1049h";
const LEAVE_SCREEN: &str = "\u{1b}[?1049l";

/// Settings of LoadGen: a run of seconds, a run of a minute, and a run with a long preparation.
const SHORT: &str = "--setting server_target_qps=500 --setting min_duration_ms=2500 --setting server_target_latency_ns=2000000000";
const LONG: &str = "--setting server_target_qps=500 --setting min_duration_ms=60000";
const PREPARING: &str = "--setting server_target_qps=50000 --setting min_duration_ms=600000";

/// Starts a run on a terminal with this number of columns. Its output goes to `folder/shown`.
fn start(folder: &Path, node: &SutNode, columns: u16, more: &str) -> Child {
    let run =
        format!("run --benchmark digits --scenario server --setting min_query_count=1 {more}");
    start_command(folder, node, columns, &run)
}

/// Starts a command of `loadgen-node` with that node, like [`start`].
fn start_command(folder: &Path, node: &SutNode, columns: u16, command: &str) -> Child {
    let (loadgen_node, output) = (program("loadgen-node"), folder.join("out"));
    let line = format!(
        "stty rows 24 cols {columns}; exec {} {command} --transport {} --nodes {} --output {}",
        loadgen_node.display(),
        transport(),
        node.address,
        output.display()
    );
    Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", &line])
        .arg(folder.join("shown"))
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("script starts")
}

/// Waits for the run to exit, and returns the exit code.
fn ended(run: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = run.try_wait().expect("a child process") {
            return status.code();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the run does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn shown(folder: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(folder.join("shown")).unwrap_or_default()).into_owned()
}

/// Splits the output into the parts before, in and after the view.
fn parts(shown: &str) -> [&str; 3] {
    let (before, rest) =
        shown.split_once(ENTER_SCREEN).unwrap_or_else(|| panic!("no view: {shown:?}"));
    let (view, after) =
        rest.split_once(LEAVE_SCREEN).unwrap_or_else(|| panic!("the view stays open: {shown:?}"));
    [before, view, after]
}

#[test]
fn a_run_is_watched_and_leaves_its_table() {
    let node = SutNode::echo("watched", &[]);
    for columns in [90, 12] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut run = start(folder.path(), &node, columns, SHORT);
        assert_eq!(ended(&mut run), Some(0));
        let text = shown(folder.path());
        let [before, view, after] = parts(&text);
        assert!(before.contains("connected"), "{before}");
        assert!(after.contains("VALID, exploratory") && after.contains("\u{1b}[?25h"), "{after:?}");
        assert!(!after.contains(ENTER_SCREEN));
        if columns == 90 {
            for words in ["digits server performance", "in the last second", "watched"] {
                assert!(view.contains(words), "{words}: {view:?}");
            }
        }
    }
}

#[test]
fn the_terminal_is_given_back_however_a_run_ends() {
    // The node is lost; the run gets one signal; the run gets two, while LoadGen prepares thirty
    // million queries.
    for signals in [0, 1, 2] {
        let folder = tempfile::tempdir().expect("a folder");
        let node = SutNode::echo("leaving", &["--echo-batch", "1ms"]);
        let (settings, words) =
            if signals == 2 { (PREPARING, "prepares") } else { (LONG, "in the last second") };
        let mut run = start(folder.path(), &node, 90, settings);
        wait_until("the view", || shown(folder.path()).contains(words));
        let process = loadgen_node_of(run.id());
        match signals {
            0 => drop(node),
            1 => send_signal(process, "-INT"),
            _ => {
                send_signal(process, "-INT");
                // Two signals within a second count as one.
                std::thread::sleep(Duration::from_millis(1200));
                // On a busy machine the run may have exited.
                let again = Command::new("kill").args(["-INT", &process.to_string()]).status();
                again.expect("kill runs");
            }
        }
        assert_eq!(ended(&mut run), Some(3));
        let text = shown(folder.path());
        let [_, _, after] = parts(&text);
        if signals > 0 {
            assert!(after.contains("ending the run"), "{after:?}");
        }
        assert!(!after.contains(ENTER_SCREEN), "{after:?}");
    }
}

#[test]
fn a_measurement_of_the_network_has_one_live_line() {
    let node = SutNode::start("measured", &["--engine", "none"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut fabric = start_command(
        folder.path(),
        &node,
        70,
        "fabric --sizes 64 --rounds 2 --duration 50ms --warm-up 20ms --connections 1",
    );
    assert_eq!(ended(&mut fabric), Some(0));
    let text = shown(folder.path());
    let (live, table) = text.split_once("fabric over ").expect("a table");
    let mut lines = live.split("\r\u{1b}[K");
    assert!(lines.next().is_some_and(|log| log.contains("this takes about")), "{live:?}");
    let lines: Vec<_> = lines.collect();
    assert!(
        lines.iter().any(|line| line.starts_with("round 2 of 2, 64 B to nodes, about 1s left"))
    );
    // Log lines may precede the line.
    let widest = lines.iter().filter_map(|line| line.rsplit('\n').next()).map(str::len).max();
    assert!(widest < Some(80), "{lines:?}");
    assert_eq!(lines.last(), Some(&""), "the line is cleared: {lines:?}");
    assert!(!live.contains("\u{1b}[0m round "), "no log line for a figure: {live}");
    assert!(table.contains("result: ") && table.contains("fabric.json"), "{table}");
}

/// Returns the process id of the program, which replaced the shell under `script`.
fn loadgen_node_of(script: u32) -> u32 {
    let children = format!("/proc/{script}/task/{script}/children");
    let text = std::fs::read_to_string(children).expect("children");
    text.split_whitespace().next().and_then(|id| id.parse().ok()).expect("a child")
}
