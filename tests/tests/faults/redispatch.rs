//! Faults of a node in runs that may continue without it (`--on-node-loss redispatch`).

use std::time::Duration;

use e2e::Faults;

use super::{
    fault::{ExpectedEnd, Fault, FaultTime, RunKind},
    stage::Stage,
};

pub fn faults() -> Vec<Fault> {
    let redispatch = ["--on-node-loss", "redispatch"];
    let goes_on = |name: &str, inject: fn(&mut Stage)| {
        Fault { limit: Duration::from_secs(60), ..Fault::fails(name, "", inject) }
            .args(&redispatch)
            .run(RunKind::Accuracy(6000))
            .expect(ExpectedEnd::Finding("the run went on without it"))
    };
    let killed = |name: &str| goes_on(name, |stage| stage.signal("-KILL")).without_reuse();
    vec![
        killed("redispatch: node killed, Offline"),
        killed("redispatch: node killed, Server").scenario("server"),
        killed("redispatch: node killed, SingleStream")
            .scenario("single-stream")
            .run(RunKind::Accuracy(1000)),
        killed("redispatch: node killed, MultiStream")
            .scenario("multi-stream")
            .run(RunKind::Accuracy(4000)),
        killed("redispatch: node killed, four connections of two streams, in turn")
            .args(&["--connections", "4", "--streams", "2", "--policy", "round-robin"])
            .scenario("server"),
        goes_on("redispatch: node killed and restarted at its port", |stage| stage.replace()),
        goes_on("redispatch: node frozen", |stage| stage.signal("-STOP")),
        goes_on("redispatch: node gets SIGTERM", |stage| stage.signal("-TERM")).without_reuse(),
        goes_on("redispatch: network cut both ways", |stage| stage.wire().set(Faults::cut()))
            .wired(),
        goes_on("redispatch: engine hangs", |_| {})
            .node(&["--echo-batch", "1h"])
            .args(&["--sample-timeout", "500ms"])
            .when(FaultTime::Before)
            .without_reuse(),
        Fault::fails("redispatch: the last node killed", "lost node struck: ", |stage| {
            stage.signal("-KILL");
        })
        .args(&redispatch)
        .alone()
        .without_reuse(),
    ]
}
