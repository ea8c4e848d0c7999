//! Performance runs: official LoadGen, real sockets, and every sample accounted for. No speed is
//! asserted.

use e2e::{
    LoadGen, Outcome, SutNode,
    ports::CLOSED,
    process::{Ended, command},
};
use serde_json::Value;

fn sum(result: &Value, key: &str) -> u64 {
    let nodes = result["nodes"].as_array().expect("a list of nodes");
    nodes.iter().map(|node| node[key].as_u64().expect("a count")).sum()
}

/// Checks `result.json` against its schema, and the counts in it against each other and against
/// LoadGen's. Returns the content of `result.json`.
fn assert_accounted_for(outcome: &Outcome, sample_bytes: u64) -> Value {
    let result = outcome.result();
    let schema = include_str!("../../loadgen-node/rules/result.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
    if let Err(error) = jsonschema::validate(&schema, &result) {
        panic!("{error} in {result:#}");
    }
    let issued = result["samples"]["issued"].as_u64().expect("a count");
    assert!(issued > 0);
    assert_eq!(result["samples"]["completed"], issued);
    assert_eq!(result["samples"]["lost"], 0);
    assert_eq!((sum(&result, "sent"), sum(&result, "answered")), (issued, issued));
    assert_eq!(sum(&result, "unmatched_replies"), 0);
    assert_eq!(
        sum(&result, "bytes_sent"),
        issued * sample_bytes,
        "each sample crosses the network"
    );
    let log = outcome.read("mlperf_log_detail.txt");
    assert!(!log.contains("\"is_error\": true"), "{log}");
    assert!(!log.contains("/shim/") && !log.contains(env!("CARGO_MANIFEST_DIR")), "a build path");
    result
}

#[test]
fn a_run_says_at_its_start_how_long_it_takes() {
    // LoadGen issues each of the samples equally often, which takes longer than min_duration.
    let said = LoadGen::new(&[CLOSED], "server")
        .data("llama3.1-8b", "synthetic-ids:13368x8-16")
        .set("server_target_qps=100")
        .set("min_duration_ms=10000")
        .args(&["--connect-timeout", "100ms"])
        .run()
        .expect_refusal("no node answers at")
        .stderr;
    let length = "this run issues at least 13368 samples and takes at least 134 s";
    assert!(said.contains(length), "{said}");
}

#[test]
fn every_scenario_is_valid_and_uses_both_nodes() {
    // At most 10,000 samples per second and node, so that an Offline query for 50,000 samples takes
    // long enough to be valid on any machine.
    let pace = ["--echo-sample", "100us", "--max-batch", "16"];
    let (a, b) = (SutNode::echo("a", &pace), SutNode::echo("b", &pace));
    for (scenario, milliseconds, qps) in [
        ("offline", 1000, 50_000),
        ("server", 1500, 1000),
        ("single-stream", 1000, 20_000),
        // LoadGen requires 662 queries of eight.
        ("multi-stream", 4000, 20_000),
    ] {
        let outcome = LoadGen::new(&[&a.address, &b.address], scenario)
            .fabric("64x100@1")
            .short(milliseconds, qps)
            .set("server_target_latency_ns=1000000000")
            .args(&["--cluster-name", "test cluster"])
            .run()
            .expect(0);
        let result = assert_accounted_for(&outcome, 100);
        assert_eq!(result["verdict"], "VALID");
        assert_eq!(result["sut_name"], "test cluster Network SUT [a, b]");
        for node in result["nodes"].as_array().expect("a list") {
            assert!(node["answered"].as_u64() > Some(0), "{scenario}: {node:#}");
        }
    }
}

/// A query of ten million samples needs LoadGen's own memory for the samples, and the memory of one
/// window. No other memory grows with the number of unsent samples.
#[test]
fn ten_million_samples_in_one_query_cost_little_memory() {
    let mut alone = command("loadgen-alone");
    let alone = Ended::of(alone.args(["offline", "9090910", "1000"])).json();
    let (a, b) = (SutNode::echo("a", &[]), SutNode::echo("b", &[]));
    let outcome = LoadGen::new(&[&a.address, &b.address], "offline")
        .fabric("1024x64")
        .short(1000, 9_090_910)
        .run()
        .expect(0);
    let result = assert_accounted_for(&outcome, 64);
    assert!(result["samples"]["issued"].as_u64() >= Some(10_000_000));
    let peak = |value: &Value| value["peak_resident_bytes"].as_u64().expect("a number");
    let (own, with_nodes) = (peak(&alone), peak(&result["process"]));
    assert!(own > 0 && with_nodes < own + 200_000_000, "{with_nodes} bytes, LoadGen alone {own}");
}

#[test]
fn loadgen_alone_reaches_a_system_behind_plain_sockets() {
    let alone =
        |bytes: &str| Ended::of(command("loadgen-alone").args(["server", "1000", "300", bytes]));
    let line = alone("64").expect(0).json();
    assert!(line["latency_ns"]["99.00"].as_f64() > Some(0.0), "{line:#}");
    alone("many").expect_text(1, "`many` is not a number of bytes");
}

#[test]
fn a_slow_node_gets_less_when_connections_pull() {
    let fast = SutNode::echo("fast", &["--max-batch", "4"]);
    let slow = SutNode::echo("slow", &["--max-batch", "4", "--echo-sample", "5ms"]);
    let outcome = LoadGen::new(&[&fast.address, &slow.address], "offline")
        .fabric("64x100")
        .short(0, 1)
        .set("min_query_count=2000")
        .set("offline_expected_qps=1")
        .run()
        .expect(0);
    let result = assert_accounted_for(&outcome, 100);
    assert_eq!(result["samples"]["issued"], 2000);
    let answered = |node: usize| result["nodes"][node]["answered"].as_u64().expect("a count");
    assert!(answered(0) > 10 * answered(1), "{result:#}");
}

#[test]
fn a_rate_that_the_nodes_cannot_hold_is_invalid_and_nothing_is_lost() {
    let node = SutNode::echo("a", &["--max-batch", "1", "--echo-batch", "2ms"]);
    let outcome = LoadGen::new(&[&node.address], "server")
        .fabric("64x100")
        .short(1000, 2000)
        .set("server_target_latency_ns=10000000")
        .run()
        .expect(1);
    let result = assert_accounted_for(&outcome, 100);
    assert_eq!(result["verdict"], "INVALID");
    assert!(result["samples"]["late"].as_u64() > Some(0), "{result:#}");
    assert!(result["nodes"][0]["late"].as_u64() > Some(0), "{result:#}");
    assert!(!outcome.stdout.contains("of the samples later than"), "a single node has all of them");
}

#[test]
fn find_peak_finds_a_rate() {
    let node = SutNode::echo("a", &["--max-batch", "1", "--echo-batch", "1ms"]);
    let outcome = LoadGen::new(&[&node.address], "server")
        .fabric("64x100")
        .args(&["--mode", "find-peak"])
        .short(300, 50)
        .set("server_target_latency_ns=50000000")
        .set("server_find_peak_qps_boundary_step_size=2")
        .set("server_find_peak_qps_decimals_of_precision=0")
        .run();
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:#?}");
    let result = outcome.result();
    assert_eq!(result["samples"]["lost"], 0);
    // The node takes a millisecond for each sample; the search begins at 50.
    let peak = result["metric"]["value"].as_f64().expect("a rate");
    assert!(peak > 100.0 && peak <= 1000.0, "{result:#}");
}

#[test]
fn find_peak_goes_on_only_to_rates_that_loadgen_can_prepare() {
    // A millisecond for each sample.
    let node = SutNode::echo("a", &["--max-batch", "1", "--echo-batch", "1ms"]);
    // 10 samples, then 1010; a third rate would exceed 10⁸.
    let search = |latency: &str| {
        LoadGen::new(&[&node.address], "server")
            .fabric("64x100")
            .args(&["--mode", "find-peak"])
            .short(1, 10_000)
            .set(&format!("server_target_latency_ns={latency}"))
            .set("server_find_peak_qps_boundary_step_size=100")
            .set("server_find_peak_qps_decimals_of_precision=0")
            .run()
    };
    search("3600000000000").expect_failure("the nodes keep up with all 2 rates that can be tried");
    let found = search("300000000");
    assert!(matches!(found.code, Some(0 | 1)), "{found:#?}");
    let peak = found.result()["metric"]["value"].as_f64().expect("a rate");
    assert!(peak > 0.0, "{found:#?}");
}

#[test]
fn a_settings_file_and_user_conf_drive_a_run() {
    let node = SutNode::echo("a", &[]);
    let run = LoadGen::new(&[&node.address], "server");
    let user_conf = run.file(
        "user.conf",
        "# short\n*.Server.target_qps = 500\nfabric.Server.min_duration = 1500\n\
         *.Server.min_query_count = 1\n*.Server.target_latency = 1000\n",
    );
    let config = run.file(
        "run.toml",
        format!("benchmark = 'fabric'\ndataset = 'synthetic:8x10'\nuser_conf = '{user_conf}'\n"),
    );
    let outcome = run.args(&["--config", &config]).run().expect(0);
    let result = assert_accounted_for(&outcome, 10);
    assert_eq!(result["test_settings"]["server_target_qps"], "500.000000");
    assert_eq!(result["test_settings"]["min_duration_ms"], "1500");
    assert_ne!(result["test_settings"]["qsl_rng_seed"], "0", "the round's seeds");
}

#[test]
fn an_audit_config_is_read_by_loadgen() {
    let node = SutNode::echo("a", &[]);
    let run = LoadGen::new(&[&node.address], "offline");
    // As in compliance test TEST01: log some responses in performance mode.
    let audit =
        run.file("my_audit.config", "*.*.mode = 2\n*.*.accuracy_log_sampling_target = 10\n");
    let args = ["--benchmark", "fabric", "--dataset", "synthetic:64x100", "--audit-config", &audit];
    let outcome = run.args(&args).short(0, 1).run().expect(0);
    assert!(!outcome.responses().is_empty());
}

#[test]
fn loadgen_may_issue_from_several_threads() {
    let (a, b) = (SutNode::echo("a", &[]), SutNode::echo("b", &[]));
    let outcome = LoadGen::new(&[&a.address, &b.address], "server")
        .fabric("64x100")
        .short(1000, 3000)
        .set("server_num_issue_query_threads=3")
        .set("server_target_latency_ns=1000000000")
        .run()
        .expect(0);
    assert_accounted_for(&outcome, 100);
    let log = outcome.read("mlperf_log_detail.txt");
    assert_eq!(log.matches("Registered IssueQueryThread").count(), 3, "{log}");
}
