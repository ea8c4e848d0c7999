//! Effects of a node that drains, beside the end of the run, and of a data set that changes. The
//! effect of every other fault on a run is in `faults.rs`.

use std::{fs, path::Path, time::Duration};

use e2e::{LoadGen, RunningLoadGen, SutNode, npy};
use netdiv_node_common::resources::files;

/// Creates a slow run of all samples of a file: 400 samples of 1000 bytes, each byte 1. An echo
/// node responds with the first eight.
fn over_a_file(node: &SutNode) -> (LoadGen, String) {
    let run = LoadGen::new(&[&node.address], "offline");
    let path = run.file("samples.npy", npy("|u1", "(400, 1000)", vec![1; 400_000]));
    (run.data("fabric", &path).accuracy().args(&["--quiet"]), path)
}

/// Cuts a file off after this number of bytes.
fn truncate(path: &str, bytes: u64) {
    let file = fs::File::options().write(true).open(path).expect("a writable path");
    file.set_len(bytes).expect("a writable path");
}

/// Returns true if the run has a file open.
fn has_open(running: &RunningLoadGen, path: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", running.id())).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|file| file.display().to_string() == path)
}

#[test]
fn a_data_set_that_changes_once_it_is_loaded_changes_nothing() {
    let node = SutNode::echo("a", &["--max-batch", "4", "--echo-batch", "20ms"]);
    let damages: [fn(&str); 3] = [
        |path| truncate(path, 10),
        |path| fs::write(path, vec![2; 400_128]).expect("a writable path"),
        |path| fs::remove_file(path).expect("a writable path"),
    ];
    for damage in damages {
        let (run, path) = over_a_file(&node);
        let running = run.start();
        running.wait_for_test();
        damage(&path);
        let responses = running.wait().expect(0).responses();
        assert_eq!(responses.len(), 400);
        assert!(responses.iter().all(|response| response.data == [1; 8]));
    }
}

#[test]
fn a_data_set_that_changes_before_it_is_loaded_fails_the_run_by_name() {
    let node = SutNode::echo("a", &[]);
    // A frozen node holds up the run between opening the data set and loading it.
    node.signal("-STOP");
    let (run, path) = over_a_file(&node);
    let running = run.start();
    e2e::wait_until("the data set is open", || has_open(&running, &path));
    // The run reads the header right after opening the file.
    std::thread::sleep(Duration::from_millis(200));
    truncate(&path, 1000);
    node.signal("-CONT");
    running.wait().expect_failure("samples.npy has changed since the data set was opened");
}

#[test]
fn a_prepared_data_set_is_compared_with_its_manifest() {
    let node = SutNode::echo("a", &[]);
    let (run, path) = over_a_file(&node);
    let array = fs::read(&path).expect("a writable path");
    let header = array.len() - 400_000;
    let sample = |index: usize| {
        let digest = files::sha256_of([&array[header + 1000 * index..][..1000]]);
        serde_json::json!({"name": index.to_string(), "sha256": digest})
    };
    let manifest = serde_json::json!({
        "form": 1, "benchmark": "fabric", "subset": "validation", "samples_form": "uint8", "complete": false,
        "samples": (0..400).map(sample).collect::<Vec<_>>(),
    });
    let beside = format!("{path}.manifest.json");
    fs::write(&beside, manifest.to_string()).expect("a writable path");
    let outcome = run.start().wait().expect(0);
    let prepared = &outcome.result()["prepared"][0];
    assert_eq!(prepared["data_set"], "samples.npy");
    assert_eq!(
        prepared["manifest_sha256"],
        files::sha256(Path::new(&beside)).expect("it is there")
    );

    let (run, path) = over_a_file(&node);
    fs::write(format!("{path}.manifest.json"), manifest.to_string()).expect("a writable path");
    let mut damaged = array.clone();
    damaged[header + 7 * 1000] ^= 1;
    fs::write(&path, damaged).expect("a writable path");
    run.start().wait().expect_failure("sample 7 (7) is not the one in");
}

#[test]
fn a_node_that_drains_ends_the_run_and_itself() {
    let mut node = SutNode::echo("leaving", &["--echo-batch", "1ms", "--drain-timeout", "500ms"]);
    let running =
        LoadGen::new(&[&node.address], "server").fabric("64x100").short(600_000, 1000).start();
    running.wait_for_test();
    node.signal("-TERM");
    running.wait().expect_failure("lost node leaving: ");
    assert_eq!(node.wait().0, Some(0));
}

#[test]
fn a_node_that_ends_when_all_is_answered_does_not_spoil_an_accuracy_run() {
    // LoadGen needs seconds to write these responses. Meanwhile it makes no call that could be
    // ended.
    let mut node = SutNode::echo("a", &["--echo-answer-bytes", "1000000"]);
    let running = LoadGen::new(&[&node.address], "offline").fabric("150x100").accuracy().start();
    e2e::wait_until("the last response has arrived", || {
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
fn a_closed_output_stops_no_program() {
    let mut node = SutNode::echo("unread", &[]);
    node.stop_reading();
    let mut run = LoadGen::new(&[&node.address], "offline").fabric("100x10").accuracy().start();
    run.stop_reading();
    assert_eq!(run.wait().expect(0).result()["verdict"], "COMPLETE");
    // The node logs the signal and its progress.
    assert_eq!(node.stop().0, Some(0));
}
