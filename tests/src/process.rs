//! Processes that tests start, and the transport under test.

use std::{
    env::{self, VarError},
    path::{Path, PathBuf},
    process::{Child, Command, Output},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use wait_timeout::ChildExt as _;

/// Variable with the transport under test: `make test` runs the tests of both transports once with
/// each.
const TRANSPORT: &str = "NETDIV_TEST_TRANSPORT";

/// Returns the program of another build, if the environment names it: `NETDIV_TEST_SUT_NODE` is the
/// path of `sut-node`.
pub fn other_build(name: &str) -> Option<PathBuf> {
    let variable = format!("NETDIV_TEST_{}", name.to_uppercase().replace('-', "_"));
    env::var_os(variable).map(PathBuf::from)
}

/// Returns the path of a program: that of another build, or beside the current program, or one
/// folder up if that is a test.
pub fn program(name: &str) -> PathBuf {
    if let Some(other) = other_build(name) {
        return other;
    }
    let own = std::env::current_exe().expect("a program knows its own file");
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let built = found.into_iter().find(|program| program.is_file());
    built.unwrap_or_else(|| panic!("{name} is not built; run `make test`"))
}

/// Returns a command that starts a program, whose log has its default level.
pub fn command(name: &str) -> Command {
    let mut command = Command::new(program(name));
    command.env_remove("RUST_LOG");
    command
}

/// Returns a command that starts a program after shell commands such as `ulimit -n 40`.
pub fn command_after(commands: &str, name: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{commands}; exec \"$0\" \"$@\"")]).arg(program(name));
    command.env_remove("RUST_LOG");
    command
}

/// End of a program.
#[derive(Debug)]
pub struct Ended {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ended {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        command.output().expect("the program starts").into()
    }

    /// Returns standard output followed by standard error.
    pub fn said(&self) -> String {
        [self.stdout.as_str(), &self.stderr].concat()
    }

    /// Asserts the exit code.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.said());
        self
    }

    /// Asserts the exit code, and that the program printed this text.
    pub fn expect_text(self, code: i32, text: &str) -> Self {
        let ended = self.expect(code);
        assert!(ended.said().contains(text), "`{text}` in\n{}", ended.said());
        ended
    }

    /// Parses standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.said()))
    }
}

impl From<Output> for Ended {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }
}

/// Runs `loadgen-node` to its end.
pub fn loadgen_node(args: &[&str]) -> Ended {
    Ended::of(command("loadgen-node").args(args))
}

/// Runs `sut-node` to its end.
pub fn sut_node(args: &[&str]) -> Ended {
    Ended::of(command("sut-node").args(args))
}

/// Returns the path of a file that `make` wrote into the target folder for the tests.
pub fn built_file(path: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    // The path is relative to the repository's root, unless it is absolute.
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(target).join(path);
    assert!(made.exists(), "{} is missing; run `make test`, which creates it", made.display());
    made
}

/// Returns the path of a fixture in `tests/models`.
pub fn model(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name);
    path.to_str().expect("a path in UTF-8").into()
}

/// Returns the transport under test: gRPC, unless the environment sets another.
pub fn transport() -> &'static str {
    match env::var(TRANSPORT).as_deref() {
        Err(VarError::NotPresent) | Ok("grpc") => "grpc",
        Ok("quic") => "quic",
        other => panic!("{TRANSPORT} is {other:?}; set it to grpc or quic"),
    }
}

/// Returns the value of the key `figure` in `/proc/PID/status`, in bytes; `None` once the process
/// has exited.
pub fn memory_bytes(process: u32, figure: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    // A zombie has no such line.
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Returns the process ids of a process's children.
pub fn children(process: u32) -> Vec<u32> {
    let output = Command::new("pgrep").args(["-P", &process.to_string()]).output();
    let text = String::from_utf8(output.expect("there is pgrep").stdout).expect("text");
    text.lines().map(|id| id.parse().expect("a number")).collect()
}

/// Sends a signal to a process of a test.
pub fn send_signal(process: u32, signal: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill {signal} {process}")]).status();
    assert!(status.expect("there is a shell").success());
}

/// Waits for a process. A process that still runs after two minutes is killed and has no code.
pub(crate) fn exit_code(child: &mut Child) -> Option<i32> {
    let ended = child.wait_timeout(Duration::from_secs(120)).expect("a child process");
    if ended.is_none() {
        child.kill().expect("a child process");
        child.wait().expect("a child process");
    }
    ended?.code()
}

/// Maximum time that a test waits for an event: a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds. Panics after a minute.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited a minute until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
