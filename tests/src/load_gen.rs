//! The LoadGen node as a process.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use loadgen_node::official_log::{LoggedResponse, read_responses};
use serde_json::Value;

use crate::{
    Folder,
    process::{self, Ended, exit_code, program, transport, wait_until},
};

/// Settings that make LoadGen count tokens, with bounds of 50 ms for the first token and 1 ms for
/// each further token.
pub const TOKEN_BOUNDS: [(&str, &str); 3] = [
    ("use_token_latencies", "true"),
    ("server_ttft_latency", "50000000"),
    ("server_tpot_latency", "1000000"),
];

/// Argument of `env` that restores SIGHUP, which `nohup` ignores for these tests.
const HEARS_HANGUP: &str = "--default-signal=HUP";

/// A `loadgen-node run` under construction.
#[derive(Debug)]
pub struct LoadGen {
    command: Command,
    transport: String,
    folder: Folder,
}

/// A `loadgen-node run` in progress.
#[derive(Debug)]
pub struct RunningLoadGen {
    child: Child,
    started: Instant,
    folder: Folder,
}

/// Result of a finished `loadgen-node run`.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Duration of the run.
    pub time: Duration,
    folder: Folder,
}

impl LoadGen {
    /// Creates a run against these addresses, with its own output folder.
    pub fn new(addresses: &[&str], scenario: &str) -> Self {
        Self::bare(&addresses.join(",")).in_own_folder(scenario)
    }

    /// Creates a run with the option `--nodes` and no others.
    pub fn bare(addresses: &str) -> Self {
        Self::run_with(&["--nodes", addresses])
    }

    /// Creates a run without nodes. The caller must add the option `--in-process`.
    pub fn in_one_process(scenario: &str) -> Self {
        Self::run_with(&[]).transport("").in_own_folder(scenario)
    }

    fn in_own_folder(self, scenario: &str) -> Self {
        let output = self.folder.path("out");
        self.args(&["--scenario", scenario, "--output", &output])
    }

    fn run_with(args: &[&str]) -> Self {
        let folder = Folder::create();
        let mut command = Command::new("env");
        command.arg(HEARS_HANGUP).arg(program("loadgen-node")).arg("run").args(args);
        // An empty folder, so that no stray file is read.
        command.current_dir(folder.root()).env_remove("RUST_LOG");
        Self { command, transport: transport().into(), folder }
    }

    /// Sets the transport.
    pub fn transport(mut self, transport: &str) -> Self {
        self.transport = transport.into();
        self
    }

    /// Adds options.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// Makes the run a performance run of at least `milliseconds`, at `qps` queries per second.
    /// LoadGen's default minimum of ten minutes is for submissions.
    pub fn short(self, milliseconds: u64, qps: u64) -> Self {
        let latency_ns = 1_000_000_000 / qps;
        self.set(&format!("min_duration_ms={milliseconds}"))
            .set(&format!("offline_expected_qps={qps}"))
            .set(&format!("server_target_qps={qps}"))
            .set(&format!("single_stream_expected_latency_ns={latency_ns}"))
            .set(&format!("multi_stream_expected_latency_ns={latency_ns}"))
            .set("min_query_count=1")
    }

    /// Sets the benchmark and its data set.
    pub fn data(self, benchmark: &str, dataset: &str) -> Self {
        self.args(&["--benchmark", benchmark, "--dataset", dataset])
    }

    /// Sets the benchmark `fabric` with random samples, written as `COUNTxBYTES`.
    pub fn fabric(self, samples: &str) -> Self {
        self.data("fabric", &format!("synthetic:{samples}"))
    }

    /// Makes the run an accuracy run.
    pub fn accuracy(self) -> Self {
        self.args(&["--mode", "accuracy"])
    }

    /// Sets a field of LoadGen, written as `FIELD=VALUE`.
    pub fn set(self, setting: &str) -> Self {
        self.args(&["--setting", setting])
    }

    /// Adds [`TOKEN_BOUNDS`].
    pub fn counting_tokens(self) -> Self {
        TOKEN_BOUNDS.iter().fold(self, |run, (field, value)| run.set(&format!("{field}={value}")))
    }

    /// Makes LoadGen count tokens, with bounds that any machine meets.
    pub fn patient(self) -> Self {
        self.set("use_token_latencies=true")
            .set("server_ttft_latency=20000000000")
            .set("server_tpot_latency=20000000000")
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs shell commands such as `ulimit -f 64` first.
    pub fn after_commands(mut self, commands: &str) -> Self {
        let mut limited = Command::new("env");
        let script = format!("{commands}; exec \"$0\" \"$@\"");
        let program_and_args = self.command.get_args().skip(1);
        limited.args([HEARS_HANGUP, "bash", "-c", &script]).args(program_and_args);
        limited.current_dir(self.folder.root()).env_remove("RUST_LOG");
        self.command = limited;
        self
    }

    /// Returns the run's folder.
    pub fn folder(&self) -> &Path {
        self.folder.root()
    }

    /// Writes a file into the run's folder, and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.folder.write(name, content)
    }

    /// Starts the run, with the benchmark `digits` unless another was set.
    pub fn start(mut self) -> RunningLoadGen {
        if !self.transport.is_empty() {
            self.command.args(["--transport", &self.transport]);
        }
        let chooses = |arg: &std::ffi::OsStr| arg == "--benchmark" || arg == "--config";
        if !self.command.get_args().any(chooses) {
            self.command.args(["--benchmark", "digits"]);
        }
        let child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        RunningLoadGen {
            child: child.expect("loadgen-node starts"),
            started: Instant::now(),
            folder: self.folder,
        }
    }

    /// Runs to completion.
    pub fn run(self) -> Outcome {
        self.start().wait()
    }
}

impl RunningLoadGen {
    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the path of LoadGen's detail log, which grows during the run.
    pub fn log(&self) -> PathBuf {
        self.folder.root().join("out/mlperf_log_detail.txt")
    }

    /// Returns true until the process exits.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child process").is_none()
    }

    /// Waits until LoadGen has begun to issue queries.
    pub fn wait_for_test(&self) {
        wait_until("LoadGen begins", || {
            std::fs::read_to_string(self.log())
                .is_ok_and(|text| text.contains("generated_query_count"))
        });
    }

    /// Closes the read ends of the run's pipes.
    pub fn stop_reading(&mut self) {
        drop((self.child.stdout.take(), self.child.stderr.take()));
    }

    /// Waits for the run to finish. A run that hangs is killed and fails the test.
    pub fn wait(mut self) -> Outcome {
        let stdout = read_in_background(self.child.stdout.take());
        let stderr = read_in_background(self.child.stderr.take());
        let code = exit_code(&mut self.child);
        let time = self.started.elapsed();
        let folder = std::mem::replace(&mut self.folder, Folder::create());
        let text = |reading: thread::JoinHandle<String>| reading.join().expect("it was read");
        Outcome { code, stdout: text(stdout), stderr: text(stderr), time, folder }
    }
}

impl Drop for RunningLoadGen {
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
    /// Returns the path of a file in the output folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.root().join("out").join(name)
    }

    /// Reads LoadGen's accuracy log.
    pub fn accuracy_log(&self) -> Vec<Value> {
        let log = self.read("mlperf_log_accuracy.json");
        serde_json::from_str(&log).unwrap_or_else(|error| panic!("{error}: {log}"))
    }

    /// Returns the responses in LoadGen's accuracy log, in the order of the samples.
    pub fn responses(&self) -> Vec<LoggedResponse> {
        let log = self.path("mlperf_log_accuracy.json");
        let mut responses = read_responses(&log).expect("LoadGen's accuracy log");
        responses.sort_by_key(|response| response.qsl_idx);
        responses
    }

    /// Returns the text of a file in the output folder, or an empty text if the file is missing.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Reads `result.json`.
    pub fn result(&self) -> Value {
        let text = self.read("result.json");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("result.json: {e}\n{self:#?}"))
    }

    /// Returns the reasons in `result.json`.
    pub fn reasons(&self) -> Vec<String> {
        let reasons = self.result()["reasons"].clone();
        serde_json::from_value(reasons).expect("a list of texts")
    }

    /// Asserts the exit code.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that the run failed for this reason, and that LoadGen's own log states it.
    pub fn expect_failure(self, reason: &str) -> Self {
        self.assert_failed(reason);
        self
    }

    /// Like [`expect_failure`](Self::expect_failure).
    pub fn assert_failed(&self, reason: &str) {
        assert_eq!(self.code, Some(3), "{self:#?}");
        let result = self.result();
        assert_eq!(result["verdict"], "FAILED");
        assert!(result["reasons"][0].as_str().is_some_and(|r| r.contains(reason)), "{result:#}");
        assert!(self.stdout.contains(reason), "{}", self.stdout);
        let log = self.read("mlperf_log_detail.txt");
        let marked = |line: &&str| line.contains("netdiv: the run failed") && line.contains(reason);
        let error = log.lines().find(marked).unwrap_or_else(|| panic!("no error in\n{log}"));
        assert!(error.contains("\"is_error\": true"), "{error}");
        assert!(!log.contains("result_validity"), "a failed run must have no result\n{log}");
    }

    /// Asserts that the run was refused with this text and left no empty folder.
    pub fn expect_refusal(self, text: &str) -> Self {
        self.assert_refused(text);
        self
    }

    /// Like [`expect_refusal`](Self::expect_refusal).
    pub fn assert_refused(&self, text: &str) {
        assert_eq!(self.code, Some(2), "{self:#?}");
        assert!(self.stderr.contains(text), "`{text}` in {}", self.stderr);
        let is_empty =
            |folder: PathBuf| folder.read_dir().is_ok_and(|mut files| files.next().is_none());
        assert!(!is_empty(self.path("")), "{}", self.stderr);
    }
}

/// Runs `loadgen-node nodes` with `patience` as `--connect-timeout`.
pub fn nodes(addresses: &[&str], patience: Duration) -> Ended {
    let (nodes, patience) = (addresses.join(","), format!("{}ms", patience.as_millis()));
    let over = ["--transport", transport(), "--connect-timeout", &patience];
    process::loadgen_node(&[&["nodes", "--nodes", &nodes], &over[..]].concat())
}
