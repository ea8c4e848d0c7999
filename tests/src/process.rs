//! Processes that tests start, and what they are about.

use std::{
    env::{self, VarError},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use wait_timeout::ChildExt as _;

/// Names the transport that tests are about: `make test` runs those of both transports once with each.
const TRANSPORT: &str = "NETDIV_TEST_TRANSPORT";

/// The program of that name: beside the program that runs, or one folder up where that is a test.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its own file");
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let built = found.into_iter().find(|program| program.is_file());
    built.unwrap_or_else(|| panic!("{name} is not built; run `make test`"))
}

/// What `make` has put into the target folder for the tests.
pub fn made(path: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    // Relative to the repository's root, unless it is absolute.
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(target).join(path);
    assert!(made.exists(), "there is no {}; run `make test`, which makes it", made.display());
    made
}

/// The transport that the tests are about: gRPC, unless the environment says otherwise.
pub fn transport() -> &'static str {
    match env::var(TRANSPORT).as_deref() {
        Err(VarError::NotPresent) | Ok("grpc") => "grpc",
        Ok("quic") => "quic",
        other => panic!("{TRANSPORT} is {other:?}; it can be grpc or quic"),
    }
}

/// A figure of `/proc/PID/status`, in bytes; `None` once the process has ended.
pub fn memory_bytes(process: u32, figure: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    // A process that has ended and was not waited for has no such line.
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Sends a signal to a process that a test has started.
pub fn send_signal(process: u32, signal: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill {signal} {process}")]).status();
    assert!(status.expect("there is a shell").success());
}

/// Waits for a process; one that is still there after two minutes is killed and has no code.
pub(crate) fn exit_code(child: &mut Child) -> Option<i32> {
    let ended = child.wait_timeout(Duration::from_secs(120)).expect("our child");
    if ended.is_none() {
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    ended?.code()
}

/// Waits for something that takes a moment; panics after a minute.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited a minute until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
