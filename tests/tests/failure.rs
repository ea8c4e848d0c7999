//! Nodes that die, hang or answer nonsense: the run ends in time, with the reason, and nothing is fabricated.

use std::time::Duration;

use e2e::{
    Behaviour, FakeNode, LoadGen, Outcome, SutNode,
    fake_node::{BEFORE_THE_RUN, answer},
    process::{send_signal, transport},
};
use loadgen_node::official_log::read_responses;
use netdiv_dataset as dataset;
use netdiv_proto::layout::InputLayout;
use netdiv_proto::v1::{InferResponse, Status};

/// A run of ten minutes, as a submission's; it can only end early.
fn long(addresses: &[&str], scenario: &str) -> LoadGen {
    LoadGen::new(addresses, scenario)
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:64x100"])
        .short(600_000, 1000)
}

fn slow(name: &str) -> SutNode {
    SutNode::echo(name, &["--max-batch", "4", "--echo-batch-us", "2000"])
}

/// Every response in the accuracy log is the one that an echo node gives to its sample.
fn assert_nothing_fabricated(outcome: &Outcome, dataset: &str) {
    let path = outcome.path("mlperf_log_accuracy.json");
    let responses = read_responses(&path).expect("LoadGen closed its accuracy log");
    assert!(!responses.is_empty(), "some samples were answered before the end");
    let data = dataset::open(dataset).expect("a data set");
    for response in responses {
        let sample = data.read(response.qsl_idx).expect("a sample");
        let sample = sample.into_payload(&InputLayout::default());
        assert_eq!(response.data, sample[..8], "{response:?}");
    }
}

#[test]
fn a_killed_node_ends_the_run_within_five_seconds() {
    for scenario in ["offline", "server", "single-stream", "multi-stream"] {
        let (dying, other) = (slow("dying"), slow("other"));
        let running = long(&[&dying.address, &other.address], scenario).start();
        running.wait_for_test();
        std::thread::sleep(Duration::from_millis(300));
        dying.signal("-KILL");
        let killed = std::time::Instant::now();
        let outcome = running.wait().expect_failure("node dying was lost");
        assert!(killed.elapsed() < Duration::from_secs(5), "{scenario}: {:?}", killed.elapsed());
        let result = outcome.result();
        assert!(result["samples"]["completed"].as_u64() > Some(0), "{scenario}: {result:#}");
        assert!(result["metric"].is_null());
    }
}

#[test]
fn a_node_killed_in_an_accuracy_run_leaves_only_true_responses() {
    let (dying, other) = (slow("dying"), slow("other"));
    let running = LoadGen::new(&[&dying.address, &other.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:100000x100"])
        .args(&["--mode", "accuracy"])
        .start();
    running.wait_for_test();
    std::thread::sleep(Duration::from_millis(300));
    dying.signal("-KILL");
    let outcome = running.wait().expect_failure("node dying was lost");
    assert_nothing_fabricated(&outcome, "synthetic:100000x100");
}

#[test]
fn a_node_killed_while_loadgen_prepares_queries_ends_the_run() {
    let dying = slow("dying");
    // LoadGen prepares thirty million queries before it makes a call, which takes longer than this.
    let running =
        long(&[&dying.address], "server").args(&["--setting", "server_target_qps=50000"]).start();
    e2e::wait_until("the run has connected", || {
        std::fs::read_to_string(running.log()).is_ok_and(|text| text.contains("loaded_qsl_set"))
    });
    dying.signal("-KILL");
    let killed = std::time::Instant::now();
    running.wait().expect_failure("node dying was lost");
    // TCP says at once that the process is gone; QUIC needs three seconds of silence.
    let limit = if transport() == "quic" { 8 } else { 5 };
    assert!(killed.elapsed() < Duration::from_secs(limit), "{:?}", killed.elapsed());
}

#[test]
fn a_frozen_node_ends_the_run() {
    let (frozen, other) = (slow("frozen"), slow("other"));
    let running = long(&[&frozen.address, &other.address], "server").start();
    running.wait_for_test();
    std::thread::sleep(Duration::from_millis(300));
    frozen.signal("-STOP");
    let stopped = std::time::Instant::now();
    let outcome = running.wait();
    frozen.signal("-CONT");
    outcome.expect_failure("node frozen was lost");
    // A ping each second, three seconds for its answer.
    assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
}

#[test]
fn an_engine_that_hangs_ends_the_run() {
    let hung = SutNode::echo("hung", &["--echo-batch-us", "3600000000"]);
    for scenario in ["offline", "server", "single-stream", "multi-stream"] {
        long(&[&hung.address], scenario)
            .args(&["--sample-timeout-ms", "500"])
            .run()
            .expect_failure("node hung has not answered any of its samples for 0.5 s");
    }
}

#[test]
fn a_node_serves_the_next_run_after_a_failed_one() {
    let (dying, other) = (slow("dying"), slow("other"));
    let running = long(&[&dying.address, &other.address], "offline").start();
    running.wait_for_test();
    dying.signal("-KILL");
    running.wait().expect_failure("node dying was lost");
    LoadGen::new(&[&other.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:64x100", "--mode", "accuracy"])
        .run()
        .expect(0);
}

#[test]
fn ctrl_c_ends_the_run() {
    let node = slow("a");
    for scenario in ["offline", "server", "single-stream"] {
        let running = long(&[&node.address], scenario).start();
        running.wait_for_test();
        send_signal(running.id(), "-INT");
        let sent = std::time::Instant::now();
        running.wait().expect_failure("interrupted by SIGINT");
        assert!(sent.elapsed() < Duration::from_secs(5), "{scenario}: {:?}", sent.elapsed());
    }
}

#[test]
fn a_node_that_drains_ends_the_run_and_itself() {
    let mut node =
        SutNode::echo("leaving", &["--echo-batch-us", "1000", "--drain-timeout-ms", "500"]);
    let running = long(&[&node.address], "server").start();
    running.wait_for_test();
    node.signal("-TERM");
    running.wait().expect_failure("node leaving was lost");
    assert_eq!(node.wait().0, Some(0));
}

fn fake(reply: fn(usize, netdiv_proto::v1::InferRequest) -> Vec<InferResponse>) -> FakeNode {
    FakeNode::start(Behaviour { reply, ..Behaviour::good("fake") })
}

#[test]
fn replies_to_nobody_are_dropped_and_counted() {
    // Each right answer comes with a repeated, an unknown and a stale one.
    let node = fake(|_, request| {
        let right = answer(&request);
        let unknown = InferResponse { id: request.id ^ (1 << 60), ..right.clone() };
        let stale = InferResponse { id: request.id.wrapping_sub(1 << 24), ..right.clone() };
        vec![unknown, right.clone(), right, stale]
    });
    let outcome = LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:500x100", "--mode", "accuracy"])
        .run()
        .expect(0);
    let result = outcome.result();
    assert_eq!(result["samples"]["completed"], 500);
    assert_eq!(result["nodes"][0]["unmatched_replies"], 1500);
    assert!(outcome.stdout.contains("1500 replies belonged to no sample"), "{}", outcome.stdout);
}

#[test]
fn a_node_that_answers_only_strangers_ends_the_run() {
    let node = fake(|_, request| vec![InferResponse { id: !request.id, ..answer(&request) }]);
    long(&[&node.address], "server")
        .args(&["--sample-timeout-ms", "500"])
        .run()
        .expect_failure("has not answered any of its samples");
}

#[test]
fn failures_that_a_node_reports_end_the_run_with_its_words() {
    let engine = fake(|_, request| {
        let status = Status::EngineFailed as i32;
        vec![InferResponse { status, error: "out of memory".into(), ..answer(&request) }]
    });
    long(&[&engine.address], "offline")
        .run()
        .expect_failure("the engine of node fake failed: out of memory");
    let refuses = fake(|_, request| {
        let status = Status::BadSample as i32;
        vec![InferResponse { status, error: "too odd".into(), ..answer(&request) }]
    });
    long(&[&refuses.address], "single-stream")
        .run()
        .expect_failure("node fake refuses a sample: too odd");
}

#[test]
fn responses_that_cannot_be_read_end_the_run() {
    let status = fake(|_, request| vec![InferResponse { status: 77, ..answer(&request) }]);
    long(&[&status.address], "server").run().expect_failure("unknown status number 77");
    let garbage = fake(|_, request| {
        vec![InferResponse { encoding: 1, decoded_bytes: 8, ..answer(&request) }]
    });
    long(&[&garbage.address], "server").run().expect_failure("damaged zstd payload");
    let bomb = fake(|_, request| {
        vec![InferResponse { encoding: 2, decoded_bytes: 1 << 40, ..answer(&request) }]
    });
    long(&[&bomb.address], "server").run().expect_failure("the limit is");
}

#[test]
fn a_flush_that_is_not_acknowledged_ends_the_run() {
    let node = FakeNode::start(Behaviour { acknowledges_flush: false, ..Behaviour::good("fake") });
    LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:64x100", "--mode", "accuracy"])
        .args(&["--control-timeout-ms", "1000"])
        .run()
        .expect_failure("did not acknowledge the end of the queries: no answer within 1 s");
}

#[test]
fn a_node_that_miscounts_ends_the_run() {
    let node = FakeNode::start(Behaviour { denies: 1, ..Behaviour::good("fake") });
    LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:64x100", "--mode", "accuracy"])
        .run()
        .expect_failure("node fake has received 63 samples, 64 were sent to it");
}

#[test]
fn a_node_with_another_name_at_the_end_ends_the_run() {
    let renamed = Some((BEFORE_THE_RUN + 1, "impostor".to_owned()));
    let node = FakeNode::start(Behaviour { rename_after: renamed, ..Behaviour::good("fake") });
    LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:64x100"])
        .short(0, 1)
        .run()
        .expect_failure("node fake now calls itself impostor");
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
fn a_later_signal_ends_the_process_at_once() {
    let node = slow("a");
    // LoadGen prepares thirty million queries before it makes a call.
    let running =
        long(&[&node.address], "server").args(&["--setting", "server_target_qps=50000"]).start();
    e2e::wait_until("the run has connected", || {
        std::fs::read_to_string(running.log()).is_ok_and(|text| text.contains("loaded_qsl_set"))
    });
    for _ in 0..2 {
        // These two are one wish.
        send_signal(running.id(), "-INT");
    }
    std::thread::sleep(Duration::from_millis(1200));
    send_signal(running.id(), "-INT");
    let sent = std::time::Instant::now();
    assert_eq!(running.wait().code, Some(3));
    assert!(sent.elapsed() < Duration::from_secs(1), "{:?}", sent.elapsed());
}

#[test]
fn a_slow_node_that_goes_on_answering_is_not_lost() {
    let node = SutNode::echo("a", &["--max-batch", "1", "--echo-batch-us", "200000"]);
    LoadGen::new(&[&node.address], "offline")
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:12x100", "--mode", "accuracy"])
        .args(&["--sample-timeout-ms", "1000"])
        .run()
        .expect(0);
}

#[test]
fn a_node_killed_while_loadgen_issues_from_several_threads() {
    let dying = slow("dying");
    let running = long(&[&dying.address], "server")
        .args(&["--setting", "server_target_qps=1000"])
        .args(&["--setting", "server_num_issue_query_threads=2"])
        .start();
    running.wait_for_test();
    dying.signal("-KILL");
    running.wait().expect_failure("node dying was lost");
}
