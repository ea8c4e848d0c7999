//! What a node that leaves does, beside ending the run; what every fault does to a run is in `faults.rs`.

use std::time::Duration;

use e2e::{LoadGen, SutNode};

#[test]
fn a_node_that_drains_ends_the_run_and_itself() {
    let mut node =
        SutNode::echo("leaving", &["--echo-batch-us", "1000", "--drain-timeout-ms", "500"]);
    let running = LoadGen::new(&[&node.address], "server")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:64x100"])
        .short(600_000, 1000)
        .start();
    running.wait_for_test();
    node.signal("-TERM");
    running.wait().expect_failure("lost node leaving: ");
    assert_eq!(node.wait().0, Some(0));
}

#[test]
fn a_node_that_ends_when_all_is_answered_does_not_spoil_an_accuracy_run() {
    // LoadGen needs seconds to write these responses, in which it makes no call that could be ended.
    let mut node = SutNode::echo("a", &["--echo-answer-bytes", "4000000"]);
    let running = LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:150x100", "--mode", "accuracy"])
        .start();
    e2e::wait_until("the last answer is in", || {
        node.cpu_seconds() > 0.1 && {
            let before = node.cpu_seconds();
            std::thread::sleep(Duration::from_millis(500));
            node.cpu_seconds() == before
        }
    });
    node.signal("-KILL");
    node.wait();
    let outcome = running.wait();
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome:#?}");
    assert!(["COMPLETE", "FAILED"].contains(&outcome.result()["verdict"].as_str().unwrap_or("")));
}

#[test]
fn nobody_has_to_read_what_the_programs_say() {
    let mut node = SutNode::echo("unread", &[]);
    node.stop_reading();
    let mut run = LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:100x10"])
        .args(&["--mode", "accuracy"])
        .start();
    run.stop_reading();
    assert_eq!(run.wait().expect(0).result()["verdict"], "COMPLETE");
    // The node says that it was asked to end, and how it goes.
    node.signal("-TERM");
    assert_eq!(node.wait().0, Some(0));
}
