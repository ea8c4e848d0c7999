//! Faults of a node as a process.

use std::{thread, time::Duration};

use super::{
    fault::{ExpectedEnd, Fault, FaultTime, RunKind, silence_reason},
    stage::Stage,
};

pub fn faults() -> Vec<Fault> {
    let lost = "lost node struck: ";
    let kill = |name: &str| Fault::fails(name, lost, |stage| stage.signal("-KILL")).without_reuse();
    let silent = "node struck has not answered any of its samples for 0.5 s";
    let hangs = |name: &str| {
        Fault::fails(name, silent, |_| {})
            .node(&["--echo-batch", "1h"])
            .args(&["--sample-timeout", "500ms"])
            .when(FaultTime::Before)
            .without_reuse()
    };
    let interrupted = |name: &str, reason, signal: &'static str| {
        Fault::fails(name, reason, move |stage| stage.signal_loadgen(signal))
    };
    vec![
        kill("node killed, Offline"),
        kill("node killed, Server").scenario("server"),
        kill("node killed, SingleStream").scenario("single-stream"),
        kill("node killed, MultiStream").scenario("multi-stream"),
        kill("node killed, Server with two issuing threads")
            .scenario("server")
            .run(RunKind::Performance(600, 1000))
            .args(&["--setting", "server_num_issue_query_threads=2"]),
        kill("node killed before the first query, while LoadGen prepares")
            .when(FaultTime::Preparing),
        Fault::fails("node killed and restarted at its port", lost, |stage| stage.replace()),
        Fault::fails("node frozen, Offline", silence_reason(), |stage| stage.signal("-STOP")),
        Fault::fails("node frozen, Server", silence_reason(), |stage| stage.signal("-STOP"))
            .scenario("server"),
        Fault::harmless("node frozen for 1 s", |stage| {
            stage.signal("-STOP");
            thread::sleep(Duration::from_secs(1));
            stage.signal("-CONT");
        }),
        hangs("engine hangs, Offline"),
        hangs("engine hangs, Server").scenario("server"),
        hangs("engine hangs, SingleStream").scenario("single-stream"),
        hangs("engine hangs, MultiStream").scenario("multi-stream"),
        Fault::fails("engine hangs, detected by the node first", "lost node struck: ", |_| {})
            .node(&["--echo-batch", "1h", "--engine-timeout", "500ms"])
            .when(FaultTime::Before)
            .without_reuse(),
        Fault::harmless("engine slow, but within the limit", |_| {})
            .node(&["--max-batch", "1", "--echo-batch", "200ms"])
            .args(&["--sample-timeout", "1s"])
            .run(RunKind::Accuracy(12)),
        Fault::fails("node gets SIGTERM in mid-run", lost, |stage| stage.signal("-TERM"))
            .more_node_args(&["--drain-timeout", "500ms"])
            .without_reuse(),
        Fault::harmless("node reloads its certificates (SIGHUP)", |s| s.signal("-HUP")),
        Fault::harmless("another client floods the node and reads no responses", Stage::flood),
        Fault::harmless("as many streams on a connection as the node accepts", |_| {})
            .args(&["--streams", "64"]),
        Fault::harmless("node ten times slower than its peer", |_| {})
            .node(&["--max-batch", "4", "--echo-batch", "20ms"])
            .with_company(),
        interrupted("interrupted by SIGINT, Offline", "interrupted by SIGINT", "-INT"),
        interrupted("interrupted by SIGINT, Server", "interrupted by SIGINT", "-INT")
            .scenario("server"),
        interrupted("interrupted by SIGTERM, SingleStream", "interrupted by SIGTERM", "-TERM")
            .scenario("single-stream"),
        interrupted("interrupted by SIGHUP, MultiStream", "interrupted by SIGHUP", "-HUP")
            .scenario("multi-stream"),
        interrupted("interrupted by SIGINT, while LoadGen prepares", "interrupted", "-INT")
            .when(FaultTime::Preparing),
        Fault::fails("interrupted twice by SIGINT, while LoadGen prepares", "", |stage| {
            stage.signal_loadgen("-INT");
            // Two signals within a second count as one.
            thread::sleep(Duration::from_millis(1200));
            stage.signal_loadgen("-INT");
        })
        .when(FaultTime::Preparing)
        .expect(ExpectedEnd::NoResult),
        interrupted("LoadGen node killed", "", "-KILL").expect(ExpectedEnd::NoResult),
        Fault::harmless("LoadGen node frozen for 1 s", freeze_loadgen),
        Fault::harmless("LoadGen node frozen for longer than --sample-timeout", freeze_loadgen)
            .args(&["--sample-timeout", "500ms"]),
    ]
}

/// Freezes the LoadGen node for a second.
fn freeze_loadgen(stage: &mut Stage) {
    stage.signal_loadgen("-STOP");
    thread::sleep(Duration::from_secs(1));
    stage.signal_loadgen("-CONT");
}
