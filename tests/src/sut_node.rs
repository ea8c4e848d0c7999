//! A SUT node as a process.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, ChildStderr, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;
use wait_timeout::ChildExt as _;

use crate::{
    Folder,
    process::{command, exit_code, memory_bytes, send_signal},
};

/// Maximum time for a node to start: libtorch and a large model are slow to load on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running `sut-node`. Dropping the value stops it.
#[derive(Debug)]
pub struct SutNode {
    child: Child,
    /// Address of the listener, as `IP:PORT`.
    pub address: String,
    log: Option<BufReader<ChildStderr>>,
    _folder: Folder,
}

impl SutNode {
    /// Starts a node on a free port of the loopback interface and waits until it is ready.
    pub fn start(name: &str, args: &[&str]) -> Self {
        Self::try_start(name, args).unwrap_or_else(|log| panic!("sut-node did not start: {log}"))
    }

    /// Like [`start`](Self::start), with environment variables.
    pub fn start_with(name: &str, environment: &[(&str, String)], args: &[&str]) -> Self {
        let args = [&["--name", name], args].concat();
        Self::try_start_with(environment, Path::new("."), "127.0.0.1:0", &args)
            .unwrap_or_else(|log| panic!("sut-node did not start: {log}"))
    }

    /// Like [`start`](Self::start), with the engine `echo`.
    pub fn echo(name: &str, args: &[&str]) -> Self {
        Self::start(name, &[&["--engine", "echo"], args].concat())
    }

    /// Starts a node. Returns its log if it exits before it is ready.
    pub fn try_start(name: &str, args: &[&str]) -> Result<Self, String> {
        let named = if args.contains(&"--name") { vec![] } else { vec!["--name", name] };
        Self::try_start_at("127.0.0.1:0", &[&named, args].concat())
    }

    /// Like [`try_start`](Self::try_start), at an address. Without an engine, a model or a settings
    /// file it runs digits.
    pub fn try_start_at(listen: &str, args: &[&str]) -> Result<Self, String> {
        Self::try_start_in(Path::new("."), listen, args)
    }

    /// Like [`try_start_at`](Self::try_start_at), with `working` as the node's current folder.
    pub fn try_start_in(working: &Path, listen: &str, args: &[&str]) -> Result<Self, String> {
        Self::try_start_with(&[], working, listen, args)
    }

    fn try_start_with(
        environment: &[(&str, String)],
        working: &Path,
        listen: &str,
        args: &[&str],
    ) -> Result<Self, String> {
        let chooses = |arg: &&str| ["--engine", "--model", "--config"].contains(arg);
        let model: &[_] = if args.iter().any(chooses) { &[] } else { &["--model", "digits"] };
        let folder = Folder::create();
        let ready = folder.root().join("ready.json");
        let mut child = command("sut-node")
            .args(["--listen", listen])
            .args(args)
            .args(model)
            .arg("--ready-file")
            .arg(&ready)
            .current_dir(working)
            .envs(environment.iter().cloned())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sut-node starts");
        let log = child.stderr.take().map(BufReader::new);
        // From here on, dropping the node stops it.
        let mut node = Self { child, address: String::new(), log, _folder: folder };
        match wait_until_ready(&ready, &mut node.child) {
            Some(address) => node.address = address,
            None => return Err(node.wait().1),
        }
        Ok(node)
    }

    /// Sends a signal to the node.
    pub fn signal(&self, signal: &str) {
        send_signal(self.child.id(), signal);
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processor time that the node has used, in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        netdiv_node_common::resources::processor::in_stat(&stat.unwrap_or_default()).unwrap_or(0.0)
    }

    /// Returns the peak resident memory, in bytes.
    pub fn peak_resident_bytes(&self) -> u64 {
        memory_bytes(self.child.id(), "VmHWM").expect("the node runs")
    }

    /// Closes the pipe of the node's log.
    pub fn stop_reading(&mut self) {
        self.log = None;
    }

    /// Reads the log up to a line that contains this text.
    pub fn wait_for_log(&mut self, words: &str) {
        let log = self.log.as_mut().expect("the log is open");
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(log.read_line(&mut line).expect("text") > 0, "the log has no `{words}`");
        }
    }

    /// Reads the log in the background, so that it may be longer than a pipe holds. The thread
    /// returns it when the node has exited.
    pub fn log(&mut self) -> JoinHandle<String> {
        let mut log = self.log.take().expect("the log is open");
        thread::spawn(move || {
            let mut text = String::new();
            log.read_to_string(&mut text).expect("the log is text");
            text
        })
    }

    /// Waits for the node to exit. Returns the exit code and the rest of the log.
    pub fn wait(&mut self) -> (Option<i32>, String) {
        let code = exit_code(&mut self.child);
        let mut rest = String::new();
        if let Some(mut log) = self.log.take() {
            log.read_to_string(&mut rest).expect("the log is text");
        }
        (code, rest)
    }

    /// Sends SIGTERM, and waits for the node to exit. Returns the exit code and the rest of the
    /// log.
    pub fn stop(&mut self) -> (Option<i32>, String) {
        self.signal("-TERM");
        self.wait()
    }
}

/// Asserts that a node did not start, and that its log contains this text.
pub fn assert_refused(started: Result<SutNode, String>, text: &str) {
    let log = started.err().unwrap_or_else(|| panic!("the node starts, despite `{text}`"));
    assert!(log.contains(text), "`{text}` in {log}");
}

impl Drop for SutNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a node's `--ready-file` and returns the address that it serves, which is the same for
/// both transports. `None` when the node exits, or is not ready in time.
pub fn wait_until_ready(file: &Path, child: &mut Child) -> Option<String> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Ok(text) = fs::read_to_string(file) {
            let ready: Value = serde_json::from_str(&text).expect("a ready file is JSON");
            assert_eq!(ready["pid"], child.id(), "another node's file: {ready}");
            let address = ready["grpc"].as_str().or(ready["quic"].as_str());
            return Some(address.expect("a node serves something").into());
        }
        if child.wait_timeout(Duration::from_millis(2)).expect("a child process").is_some() {
            return None;
        }
    }
    let _ = child.kill();
    None
}
