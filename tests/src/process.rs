//! Processes that tests start, and the transport under test.

use std::{
    env::{self, VarError},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use wait_timeout::ChildExt as _;

/// Variable with the transport under test: `make test` runs the tests of both transports once with
/// each.
const TRANSPORT: &str = "NETDIV_TEST_TRANSPORT";

/// Returns the path of a program: beside the current program, or one folder up if that is a test.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its own file");
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let built = found.into_iter().find(|program| program.is_file());
    built.unwrap_or_else(|| panic!("{name} is not built; run `make test`"))
}

/// Returns the path of a file that `make` wrote into the target folder for the tests.
pub fn built_file(path: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    // The path is relative to the repository's root, unless it is absolute.
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(target).join(path);
    assert!(made.exists(), "{} is missing; run `make test`, which creates it", made.display());
    made
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

/// Awaits a call. A call that takes more than a minute fails the test.
pub async fn soon<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, call).await.expect("an answer in time")
}

/// Waits until a condition holds. Panics after a minute.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited a minute until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
