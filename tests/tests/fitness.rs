//! Faults of the LoadGen node's own machine: a clock that is set, a full disk, files that cannot
//! grow, a terminal that is closed.

use std::{
    path::Path,
    process::{Child, Command},
};

use e2e::{LoadGen, SutNode};

/// Creates a run of ten minutes, which can only end early.
fn long(node: &SutNode) -> LoadGen {
    LoadGen::new(&[&node.address], "server").fabric("64x100").args(&["--quiet"]).short(600_000, 100)
}

fn slow() -> SutNode {
    SutNode::echo("a", &["--max-batch", "4", "--echo-batch", "2ms"])
}

/// Moves the wall clock of a program by an hour as soon as a file exists.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, time);
    const char *jump = getenv("NETDIV_TEST_JUMP");
    if (code == 0 && clock == CLOCK_REALTIME && jump && access(jump, F_OK) == 0)
        time->tv_sec += atoi(getenv("NETDIV_TEST_JUMP_S"));
    return code;
}
"#;

fn shim(folder: &Path) -> String {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    std::fs::write(&source, SHIM).expect("a writable folder");
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).arg("-ldl");
    assert!(compile.status().expect("there is a C compiler").success());
    library.display().to_string()
}

/// A program that keeps a processor busy.
struct Spinner(Child);

impl Spinner {
    fn on_core_0() -> Self {
        let mut spin = Command::new("taskset");
        spin.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
        Self(spin.spawn().expect("taskset starts"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("a child");
    }
}

#[test]
fn programs_that_wait_for_a_processor_are_named() {
    let _busy = [(); 3].map(|()| Spinner::on_core_0());
    let node = SutNode::echo("starved", &["--pin", "0", "--io-threads", "1"]);
    let outcome = LoadGen::new(&[&node.address], "offline")
        .fabric("64x100")
        .args(&["--quiet"])
        .short(1000, 2000)
        .after_commands("taskset -pc 0 $$ >&2")
        .run();
    for program in ["LoadGen node on ", "node starved"] {
        assert!(
            outcome.stdout.contains(&format!("short of processors  {program}")),
            "{}",
            outcome.stdout
        );
        let result = outcome.result();
        let named =
            result["shortages"].as_array().expect("a list").iter().find(|short| {
                short["program"].as_str().is_some_and(|name| name.starts_with(program))
            });
        let waited = named.map_or(0.0, |short| short["waited_seconds"].as_f64().unwrap_or(0.0));
        assert!(waited > 0.0, "{program}: {}", result["shortages"]);
    }
}

#[test]
fn a_clock_that_is_set_during_the_test_ends_the_run() {
    let (node, folder) = (slow(), tempfile::tempdir().expect("a folder"));
    let library = shim(folder.path());
    // An hour forward LoadGen would end its test early and call it valid; an hour back it would
    // sleep.
    for (seconds, words) in [("3600", "went forward by 3600"), ("-3600", "went back by 3600")] {
        let jump = folder.path().join(seconds);
        let running = long(&node)
            .env("LD_PRELOAD", &library)
            .env("NETDIV_TEST_JUMP", &jump.display().to_string())
            .env("NETDIV_TEST_JUMP_S", seconds)
            .start();
        running.wait_for_test();
        std::fs::write(&jump, "").expect("a writable folder");
        let outcome = running.wait().expect_failure("the system's clock went");
        assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    }
}

#[test]
fn a_disk_without_room_refuses_a_run_and_one_that_fills_ends_it() {
    let node = slow();
    long(&node)
        .args(&["--min-free-bytes", "9223372036854775807"])
        .run()
        .expect_refusal("bytes free, and LoadGen's logs need --min-free-bytes");

    let run = long(&node);
    let folder = run.folder().to_owned();
    let free = rustix::fs::statvfs(&folder).expect("a file system");
    let free = free.f_bavail * free.f_frsize;
    let (reserve, filler) = (free.saturating_sub(512 << 20), 1 << 30);
    let running = run.args(&["--min-free-bytes", &reserve.to_string()]).start();
    running.wait_for_test();
    let file = std::fs::File::create(folder.join("filler")).expect("a writable folder");
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, filler).expect("room");
    running.wait().expect_failure("bytes free, and LoadGen's logs need --min-free-bytes");
}

#[test]
fn logs_that_cannot_be_written_fail_the_run() {
    let node = slow();
    // An accuracy log of 200 kB does not fit. The system refuses each write beyond 64 KiB with a
    // signal, whether the shell ignores it or not.
    for commands in ["ulimit -f 64", "trap '' XFSZ; ulimit -f 64"] {
        LoadGen::new(&[&node.address], "offline")
            .fabric("2000x100")
            .accuracy()
            .args(&["--quiet"])
            .after_commands(commands)
            .run()
            .expect_failure("raise the limit (ulimit -f)");
    }
    // Where not even LoadGen's list of the samples fits, the result still states the reason.
    let outcome = LoadGen::new(&[&node.address], "offline")
        .fabric("20000x100")
        .accuracy()
        .args(&["--quiet"])
        .after_commands("ulimit -f 64")
        .run()
        .expect(3);
    assert_eq!(outcome.result()["verdict"], "FAILED");
    let reasons = outcome.result()["reasons"].to_string();
    assert!(reasons.contains("raise the limit (ulimit -f)"), "{reasons}");
}

#[test]
fn a_terminal_that_is_closed_ends_the_run_unless_it_was_started_to_outlive_it() {
    let node = slow();
    let running = long(&node).start();
    running.wait_for_test();
    e2e::process::send_signal(running.id(), "-HUP");
    running.wait().expect_failure("interrupted by SIGHUP");

    let outlives = LoadGen::new(&[&node.address], "server")
        .fabric("64x100")
        .args(&["--quiet"])
        .short(2000, 100)
        .after_commands("trap '' HUP")
        .start();
    outlives.wait_for_test();
    e2e::process::send_signal(outlives.id(), "-HUP");
    let outcome = outlives.wait();
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:#?}");
    assert_ne!(outcome.result()["verdict"], "FAILED");
}
