//! The LoadGen node as a process.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{exit_code, program, transport, wait_until};

/// Settings with which LoadGen counts tokens, and asks for the first within 50 ms and each further one within 1 ms.
pub const TOKEN_BOUNDS: [(&str, &str); 3] = [
    ("use_token_latencies", "true"),
    ("server_ttft_latency", "50000000"),
    ("server_tpot_latency", "1000000"),
];

/// For `env`: a run hears SIGHUP although `nohup` keeps it from these tests.
const HEARS_HANGUP: &str = "--default-signal=HUP";

/// A `loadgen-node run` under construction.
#[derive(Debug)]
pub struct LoadGen {
    command: Command,
    transport: String,
    folder: TempDir,
}

/// A `loadgen-node run` under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    folder: TempDir,
}

/// How a `loadgen-node run` ended.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long it took.
    pub time: Duration,
    folder: TempDir,
}

impl LoadGen {
    /// A run against these addresses, with a folder of its own for the output.
    pub fn new(addresses: &[&str], scenario: &str) -> Self {
        let run = Self::bare(&addresses.join(","));
        let output = run.folder.path().join("out").display().to_string();
        run.args(&["--scenario", scenario, "--output", &output])
    }

    /// A run that names nodes and nothing else.
    pub fn bare(addresses: &str) -> Self {
        Self::run_with(&["--nodes", addresses])
    }

    /// A run without nodes; it still needs `--in-process`.
    pub fn in_one_process(scenario: &str) -> Self {
        let run = Self::run_with(&["--scenario", scenario]).over("");
        let output = run.folder.path().join("out").display().to_string();
        run.args(&["--output", &output])
    }

    fn run_with(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("env");
        command.arg(HEARS_HANGUP).arg(program("loadgen-node")).arg("run").args(args);
        // In a folder of its own, where nothing lies about.
        command.current_dir(folder.path());
        command.env_remove("RUST_LOG");
        Self { command, transport: transport().into(), folder }
    }

    /// Over this transport.
    pub fn over(mut self, transport: &str) -> Self {
        self.transport = transport.into();
        self
    }

    /// More options.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// A short performance run: LoadGen's minimum of ten minutes is for submissions.
    pub fn short(self, milliseconds: u64, qps: u64) -> Self {
        let duration = format!("min_duration_ms={milliseconds}");
        let offline = format!("offline_expected_qps={qps}");
        let server = format!("server_target_qps={qps}");
        let single = format!("single_stream_expected_latency_ns={}", 1_000_000_000 / qps);
        let multi = format!("multi_stream_expected_latency_ns={}", 1_000_000_000 / qps);
        let mut settings = vec![duration, offline, server, single, multi];
        settings.push("min_query_count=1".into());
        settings.iter().fold(self, |run, setting| run.args(&["--setting", setting]))
    }

    /// With [`TOKEN_BOUNDS`].
    pub fn counting_tokens(self) -> Self {
        TOKEN_BOUNDS
            .iter()
            .fold(self, |run, (field, value)| run.args(&["--setting", &format!("{field}={value}")]))
    }

    /// With this variable in its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Within limits that a shell has set: commands such as `ulimit -f 64`.
    pub fn after(mut self, commands: &str) -> Self {
        let mut limited = Command::new("env");
        let script = format!("{commands}; exec \"$0\" \"$@\"");
        let program_and_args = self.command.get_args().skip(1);
        limited.args([HEARS_HANGUP, "bash", "-c", &script]).args(program_and_args);
        limited.current_dir(self.folder.path()).env_remove("RUST_LOG");
        self.command = limited;
        self
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into the run's folder and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("the folder is ours");
        path.display().to_string()
    }

    /// Starts it, with the benchmark digits if no other was chosen.
    pub fn start(mut self) -> Running {
        if !self.transport.is_empty() {
            self.command.args(["--transport", &self.transport]);
        }
        let chooses = |arg: &std::ffi::OsStr| arg == "--benchmark" || arg == "--config";
        if !self.command.get_args().any(chooses) {
            self.command.args(["--benchmark", "digits"]);
        }
        let child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running {
            child: child.expect("loadgen-node starts"),
            started: Instant::now(),
            folder: self.folder,
        }
    }

    /// Runs it to its end.
    pub fn run(self) -> Outcome {
        self.start().wait()
    }
}

impl Running {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// LoadGen's detail log, which it writes as it goes.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("out/mlperf_log_detail.txt")
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("our child").is_none()
    }

    /// Waits until LoadGen has begun to issue queries.
    pub fn wait_for_test(&self) {
        wait_until("LoadGen begins", || {
            std::fs::read_to_string(self.log())
                .is_ok_and(|text| text.contains("generated_query_count"))
        });
    }

    /// Closes the pipes that the run writes to.
    pub fn stop_reading(&mut self) {
        drop((self.child.stdout.take(), self.child.stderr.take()));
    }

    /// Waits for the end; a run that hangs is ended and fails the test.
    pub fn wait(mut self) -> Outcome {
        let stdout = read_in_background(self.child.stdout.take());
        let stderr = read_in_background(self.child.stderr.take());
        let code = exit_code(&mut self.child);
        let time = self.started.elapsed();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().expect("a folder"));
        let text = |reading: thread::JoinHandle<String>| reading.join().expect("it was read");
        Outcome { code, stdout: text(stdout), stderr: text(stderr), time, folder }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        let read = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_string(&mut text));
        read.expect("text");
        text
    })
}

impl Outcome {
    /// A file that the run has written.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    /// The same as text; empty when there is none.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// `result.json`.
    pub fn result(&self) -> Value {
        let text = self.read("result.json");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("result.json: {e}\n{self:#?}"))
    }

    /// Asserts the exit code.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that the run failed for that reason, and that LoadGen's own log says so.
    pub fn expect_failure(self, reason: &str) -> Self {
        let outcome = self.expect(3);
        let result = outcome.result();
        assert_eq!(result["verdict"], "FAILED");
        assert!(result["reasons"][0].as_str().is_some_and(|r| r.contains(reason)), "{result:#}");
        assert!(outcome.stdout.contains(reason), "{}", outcome.stdout);
        let log = outcome.read("mlperf_log_detail.txt");
        let marked = |line: &&str| line.contains("netdiv: the run failed") && line.contains(reason);
        let error = log.lines().find(marked).unwrap_or_else(|| panic!("no error in\n{log}"));
        assert!(error.contains("\"is_error\": true"), "{error}");
        assert!(!log.contains("result_validity"), "a failed run must have no result\n{log}");
        outcome
    }

    /// Asserts that the run was refused, with this text, and that it left no empty folder.
    pub fn expect_refusal(self, text: &str) -> Self {
        let outcome = self.expect(2);
        assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
        let is_empty =
            |folder: PathBuf| folder.read_dir().is_ok_and(|mut files| files.next().is_none());
        assert!(!is_empty(outcome.path("")), "{}", outcome.stderr);
        outcome
    }
}

/// Runs `loadgen-node nodes`.
pub fn nodes(addresses: &[&str], patience: Duration) -> std::process::Output {
    let patience = format!("{}ms", patience.as_millis());
    let args = ["nodes", "--nodes", &addresses.join(","), "--transport", transport()];
    let patience = ["--connect-timeout", &patience];
    Command::new(program("loadgen-node"))
        .args(args)
        .args(patience)
        .output()
        .expect("loadgen-node starts")
}
