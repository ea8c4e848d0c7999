//! The rules as code, on real runs: refusals before a run, evidence from digests, and the steps
//! from runs to a submission.

use std::path::Path;

use bytes::Bytes;
use e2e::{
    Behaviour, FakeNode, Folder, LoadGen, Outcome, SutNode, npy,
    process::{Ended, command, transport},
    round::table_of_v5_0,
};
use netdiv_contract::v1;
use serde_json::Value;

/// Samples of the benchmark `fabric`.
const FABRIC: &str = "64x1000";

fn loadgen_node(args: &[&str]) -> Ended {
    // ResNet50 left the suite after v5.0.
    Ended::of(command("loadgen-node").args(args).env("NETDIV_BENCHMARKS", table_of_v5_0()))
}

/// Creates a run of resnet50 for a division.
fn of_resnet50(address: &str, scenario: &str, division: &[&str]) -> LoadGen {
    LoadGen::new(&[address], scenario)
        .args(&["--division"])
        .args(division)
        .data("resnet50", "synthetic:1024x150528")
        .args(&["--benchmarks", &table_of_v5_0().display().to_string()])
}

/// Adds a user.conf.
fn configured(run: LoadGen, user_conf: &str) -> LoadGen {
    let user_conf = run.file("user.conf", user_conf);
    run.args(&["--user-conf", &user_conf])
}

/// Asserts that a run was refused because of these rules before LoadGen began.
fn assert_broken(refused: &Outcome, rules: &[&str]) {
    for rule in rules {
        let words = format!("{rule} (section");
        assert!(refused.stderr.contains(&words), "{rule} in {}", refused.stderr);
    }
    assert!(refused.read("mlperf_log_detail.txt").is_empty(), "LoadGen has begun");
}

#[test]
fn a_run_says_what_it_is_for() {
    let node = SutNode::echo("a", &[]);
    let exploratory = LoadGen::new(&[&node.address], "offline").fabric(FABRIC).short(0, 1).run();
    let exploratory = exploratory.expect(0);
    assert!(exploratory.stdout.contains("VALID, exploratory"), "{}", exploratory.stdout);
    assert_eq!(exploratory.result()["division"], "exploratory");
    let open =
        LoadGen::new(&[&node.address], "offline").fabric(FABRIC).args(&["--division", "open"]);
    let open = open.short(0, 1).run().expect(0);
    assert!(open.stdout.contains("VALID, Open division"), "{}", open.stdout);
    let division = ["--division", "standard"];
    LoadGen::new(&[&node.address], "offline")
        .args(&division)
        .run()
        .expect_refusal("[possible values: exploratory, closed, network, open]");
}

#[test]
fn a_run_that_breaks_rules_is_refused_before_it_starts() {
    // Nothing listens at this address: the settings alone suffice for a refusal.
    let refused = LoadGen::new(&["127.0.0.1:9"], "single-stream")
        .args(&["--division", "network", "--benchmark", "gptj-99", "--encoding", "zstd"])
        .args(&["--dataset", "synthetic:64x1000"])
        .set("min_duration_ms=1000")
        .run()
        .expect_refusal("this run does not meet the rules of the Network division");
    assert_broken(&refused, &["N25", "N26", "N32"]);
    assert!(refused.stderr.contains("division needs --user-conf"), "{}", refused.stderr);

    // Both ends on this machine, over loopback.
    let node = SutNode::echo("a", &[]);
    let network = || of_resnet50(&node.address, "offline", &["network"]);
    network().run().expect_refusal("a run of the Network division needs --user-conf");
    let other = configured(network(), "bert.Offline.target_qps = 1\n");
    other.run().expect_refusal("no line applies to resnet50");
    let network = || configured(network(), USER_CONF);
    let refused =
        network().run().expect_refusal("this run does not meet the rules of the Network division");
    assert_broken(&refused, &["N4", "N5"]);

    let both = network().args(&["--rehearsal", "--strict"]);
    both.run().expect_refusal("--rehearsal notes what --strict refuses");
    let rehearsal = network().args(&["--rehearsal"]).short(0, 1).run();
    let rehearsal = rehearsal.expect(0);
    assert!(rehearsal.stdout.contains("rehearsal for the Network division"));
    let findings = rehearsal.result()["findings"].as_array().expect("findings").clone();
    assert!(findings.iter().any(|finding| finding["rule"] == "N4"), "{findings:#?}");
}

#[test]
fn a_closed_run_may_share_its_machine_with_a_node() {
    let node = SutNode::echo("a", &["--echo-answer-bytes", "4"]);
    let closed = |options: &[&str]| {
        let run = of_resnet50(&node.address, "offline", &["closed"]);
        configured(run.args(options), USER_CONF)
    };
    // The rules for every division still apply; section 6.2.2 applies only to the Network division.
    let refused =
        closed(&[]).run().expect_refusal("this run does not meet the rules of the Closed division");
    assert!(refused.stderr.contains("N2 (section"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("N4 (section 6.2.2) broken"), "{}", refused.stderr);
    closed(&["--in-process", "model.onnx"])
        .run()
        .expect_refusal("a run of the Closed division needs SUT nodes");

    let rehearsal = closed(&["--rehearsal"]).short(0, 1).run().expect(0);
    for words in
        ["rehearsal for the Closed division", "N4, N5: not required by the Closed division"]
    {
        assert!(rehearsal.stdout.contains(words), "{words}: {}", rehearsal.stdout);
    }
    let waived = rehearsal.stderr.matches("waived in the Closed division: N4, ").count();
    assert!(waived == 1 && !rehearsal.stderr.contains("N4 (section"), "{}", rehearsal.stderr);
    let result = rehearsal.result();
    let rules = |key: &str| -> Vec<String> {
        let findings = result[key].as_array().expect("findings").iter();
        findings.map(|finding| finding["rule"].as_str().expect("a rule").to_owned()).collect()
    };
    assert!(rules("waived").iter().any(|rule| rule == "N4"), "{result:#}");
    assert!(!rules("findings").iter().any(|rule| rule == "N4"), "{result:#}");
    assert!(result["evidence"]["nodes"]["a"].is_object(), "{result:#}");

    let folder = rehearsal.path("").display().to_string();
    let text = loadgen_node(&["check", &folder]).expect_text(1, "the run was a rehearsal").stdout;
    assert!(text.starts_with("The rules of the Closed division"), "{text}");
}

#[test]
fn a_run_for_a_division_needs_a_rate_also_as_a_rehearsal() {
    for division in [&["network", "--rehearsal"][..], &["open"]] {
        let run = || of_resnet50("127.0.0.1:9", "server", division);
        let line =
            "the line `resnet50.Server.target_qps = RATE`: without it LoadGen issues 1 query";
        run().run().expect_refusal(line);
        for text in [
            "resnet50.Server.min_duration = 600000\n",
            "resnet50.Offline.target_qps = 9\n",
            "# none\n",
        ] {
            configured(run(), text).run().expect_refusal(line);
        }
    }
}

#[test]
fn queries_that_loadgen_hands_over_together_break_nothing_and_are_reported() {
    let node = SutNode::echo("a", &["--echo-answer-bytes", "4"]);
    let run = of_resnet50(&node.address, "server", &["network", "--rehearsal"]);
    let conf = "*.Server.coalesce_queries = 1\n*.Server.target_qps = 1000\n";
    let outcome = configured(run, conf).short(1500, 1000).run();
    assert!(
        outcome
            .read("mlperf_log_detail.txt")
            .contains("\"key\": \"requested_server_coalesce_queries\", \"value\": true")
    );
    let folder = outcome.path("").display().to_string();
    let report = loadgen_node(&["check", &folder, "--json"]).json();
    let checked = report["judgements"][0]["findings"].as_array().expect("findings").clone();
    for findings in [outcome.result()["findings"].as_array().expect("findings"), &checked] {
        let about = |finding: &&Value| {
            finding["text"].to_string().contains("coalesce")
                || finding["place"].to_string().contains("coalesce")
        };
        let of_queries: Vec<_> = findings.iter().filter(about).collect();
        assert!(!of_queries.is_empty(), "{findings:#?}");
        assert!(of_queries.iter().all(|one| one["outcome"] == "pass"), "{of_queries:#?}");
    }
    let text = loadgen_node(&["check", &folder]).stdout;
    assert!(text.contains("server_coalesce_queries"), "{text}");
}

#[test]
fn what_is_stated_of_a_machine_is_read_before_anything_begins() {
    let run = LoadGen::new(&["127.0.0.1:9"], "offline").fabric(FABRIC);
    let file = run.file("machine.toml", "memory_ecc = true\ncolour = 'blue'\n");
    let started = SutNode::try_start("a", &["--engine", "echo", "--evidence", &file]);
    let log = started.expect_err("a node must not start");
    assert!(log.contains("machine.toml") && log.contains("colour"), "{log}");
    run.args(&["--evidence", &file]).run().expect_refusal("colour");

    // A stated value is in the record of a run, and is marked as stated.
    let run = LoadGen::new(&[], "offline").fabric(FABRIC);
    let file = run.file("machine.toml", "framework = 'none'\nbios_version = '1.2'\n");
    let node = SutNode::echo("a", &["--evidence", &file]);
    let outcome = LoadGen::new(&[&node.address], "offline").fabric(FABRIC).short(0, 1).run();
    let machine = &outcome.expect(0).result()["evidence"]["nodes"]["a"];
    assert_eq!(machine["framework"], "none", "{machine:#}");
    let supplied = machine["supplied"].as_array().expect("a list");
    assert!(supplied.iter().any(|field| field == "framework"), "{machine:#}");
}

/// Asserts that the digests of a run agree, and returns them.
fn digests(outcome: &Outcome) -> Value {
    let result = outcome.result();
    let digests = result["digests"].clone();
    let issued = &result["samples"]["issued"];
    for what in ["samples", "responses"] {
        let compared = &digests[what];
        assert_eq!((&compared["sent"], &compared["received"]), (issued, issued), "{digests:#}");
        assert_eq!(compared["differences"], 0);
        assert!(compared["sha256"].is_string());
    }
    digests
}

#[test]
fn digests_prove_that_every_byte_arrived() {
    let nodes = [
        SutNode::echo("a", &["--response-encoding", "lz4", "--echo-answer-bytes", "0"]),
        SutNode::echo("b", &["--response-encoding", "lz4", "--echo-answer-bytes", "0"]),
    ];
    for (scenario, mode, encoding) in [
        ("offline", "performance", "none"),
        ("server", "performance", "zstd"),
        ("multi-stream", "accuracy", "lz4"),
    ] {
        let outcome = LoadGen::new(&[&nodes[0].address, &nodes[1].address], scenario)
            .fabric(FABRIC)
            .args(&["--digests", "--mode", mode, "--encoding", encoding, "--streams", "2"])
            .short(0, 500)
            .set("min_query_count=640")
            .set("server_target_latency_ns=1000000000")
            .run()
            .expect(0);
        let digests = digests(&outcome);
        assert_eq!(digests["samples"]["distinct"], 64);
        let sent: u64 = outcome.result()["nodes"]
            .as_array()
            .expect("nodes")
            .iter()
            .map(|node| node["bytes_sent"].as_u64().expect("a count"))
            .sum();
        assert_eq!(digests["bytes_issued"], sent, "bytes on the wire are those of the samples");
    }
}

/// Makes a run against a node that notes wrong digests.
fn run_with_digests(digests_of: fn(v1::Tally, Bytes) -> Bytes) -> Outcome {
    let node = FakeNode::start(Behaviour { digests_of, ..Behaviour::good("fake") });
    LoadGen::new(&[&node.address], "offline").fabric(FABRIC).args(&["--digests"]).short(0, 1).run()
}

#[test]
fn a_node_that_saw_something_else_is_found() {
    let samples = run_with_digests(|kind, payload| match kind {
        v1::Tally::Samples => payload.slice(1..),
        v1::Tally::Responses => payload,
    });
    let responses = run_with_digests(|kind, payload| match kind {
        v1::Tally::Samples => payload,
        v1::Tally::Responses => payload.iter().map(|byte| byte ^ 1).collect(),
    });
    for (outcome, want) in [
        (samples, "samples did not all arrive as they were sent"),
        (responses, "responses did not all arrive as they were sent"),
    ] {
        let outcome = outcome.expect(1);
        assert!(outcome.stdout.contains(want), "{}", outcome.stdout);
        assert_eq!(outcome.result()["verdict"], "INVALID");
    }
    run_with_digests(|_, payload| payload).expect(0);
}

#[test]
fn early_stopping_is_loadgens_own() {
    for overlatency in [0, 1, 2, 7, 50, 400, 3000] {
        for percentile in [0.5, 0.9, 0.97, 0.99, 0.999] {
            let own = netdiv_rules::statistics::min_queries(overlatency, percentile);
            let within = loadgen_sys::min_passing_queries(overlatency, percentile, 0.0, 0.99);
            assert_eq!(own, overlatency + within, "{overlatency} beyond the bound at {percentile}");
        }
    }
}

/// Input of the pipeline below: two nodes that respond with a sample's first four bytes, samples,
/// and their labels.
struct Rehearsal {
    folder: Folder,
    _nodes: Vec<SutNode>,
    addresses: String,
}

const SAMPLES: usize = 1100;
const SAMPLE_BYTES: usize = 3 * 224 * 224;

impl Rehearsal {
    fn new() -> Self {
        let folder = Folder::create();
        let class = |index: usize| (index % 1000) as i32;
        let sample = |index: usize| {
            let label = class(index).to_le_bytes();
            label.into_iter().chain(std::iter::repeat_n(0, SAMPLE_BYTES - 4))
        };
        let shape = format!("({SAMPLES}, 3, 224, 224)");
        let samples = npy("|u1", &shape, (0..SAMPLES).flat_map(sample));
        // Four of five responses are correct.
        let label = |index: usize| class(if index.is_multiple_of(5) { index + 1 } else { index });
        let labels = (0..SAMPLES).flat_map(|index| label(index).to_le_bytes());
        let labels = npy("<i4", &format!("({SAMPLES},)"), labels);
        folder.write("samples.npy", samples);
        folder.write("labels.npy", labels);
        folder.write("user.conf", USER_CONF);
        let args = ["--echo-answer-bytes", "4", "--echo-sample", "200us"];
        let nodes = vec![SutNode::echo("node-a", &args), SutNode::echo("node-b", &args)];
        let addresses =
            nodes.iter().map(|node| node.address.as_str()).collect::<Vec<_>>().join(",");
        Self { folder, _nodes: nodes, addresses }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }

    fn run(&self, scenario: &str, name: &str, args: &[&str]) {
        let output = self.path(&format!("{scenario}/{name}"));
        let (dataset, labels) = (self.path("samples.npy"), self.path("labels.npy"));
        let user_conf = self.path("user.conf");
        let common = ["run", "--division", "network", "--rehearsal", "--transport", transport()];
        let benchmark = ["--benchmark", "resnet50", "--dataset", &dataset, "--labels", &labels];
        let samples = ["--performance-samples", "1024", "--user-conf", &user_conf];
        let places = ["--nodes", &self.addresses, "--scenario", scenario, "--output", &output];
        let ended = loadgen_node(&[&common[..], &benchmark, &samples, &places, args].concat());
        // This test does not depend on the current speed of the machine.
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    }

    /// Makes all runs of a scenario.
    fn runs(&self, scenario: &str) {
        let short = ["--setting", "min_duration_ms=1500"];
        self.run(scenario, "accuracy", &["--mode", "accuracy"]);
        self.run(scenario, "performance", &short);
        let digests = ["--digests", "--setting", "min_query_count=1500"];
        self.run(scenario, "digests", &[&short[..], &digests].concat());
        let folder = |name: &str| self.path(&format!("{scenario}/{name}"));
        let runs = ["performance", "accuracy", "compliance"].map(folder);
        let places = ["--performance", &runs[0], "--accuracy", &runs[1], "--output", &runs[2]];
        let ended = loadgen_node(&[&["audit"], &places[..]].concat());
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
        for words in ["TEST01: ", "accuracy     pass", "TEST04: "] {
            assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        }
    }
}

const USER_CONF: &str = "resnet50.Offline.target_qps = 8000\nresnet50.Server.target_qps = 400\n";

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn from_runs_to_a_submission() {
    let rehearsal = Rehearsal::new();
    rehearsal.runs("offline");
    rehearsal.runs("server");

    // A single run folder can be checked. Loopback is not a network.
    loadgen_node(&["check", &rehearsal.path("offline/digests")]).expect(1);

    let settings = include_str!("../rehearsal/submission.toml").replace("@ROUND@", "v5.0");
    let settings = settings.replace(":lg0", ":lo").replace(":sut0", ":lo");
    // Evidence never contains the driver of a loopback interface.
    let stack = ["loadgen", "sut"].map(|end| format!("net_software_stack_{end} = \"Linux TCP\"\n"));
    let settings = settings.replace("[system]\n", &format!("[system]\n{}", stack.concat()));
    rehearsal.folder.write("submission.toml", settings);
    rehearsal.folder.write("calibration.md", "Nothing was calibrated.\n");
    let submission = |output: &str, more: &[&str]| {
        let (settings, output) = (rehearsal.path("submission.toml"), rehearsal.path(output));
        let args = ["submission", "--settings", &settings, "--output", &output];
        loadgen_node(&[&args, more].concat())
    };
    // A rehearsal is not a submission.
    submission("refused", &[]).expect(2);
    assert!(!Path::new(&rehearsal.path("refused")).exists());

    for tree in ["one", "two"] {
        submission(tree, &["--rehearsal"]).expect(0);
    }
    let (one, two) = (rehearsal.path("one"), rehearsal.path("two"));
    let (first, second) = (files(Path::new(&one)), files(Path::new(&two)));
    assert_eq!(first.len(), second.len());
    for (a, b) in first.iter().zip(&second) {
        let (content, again) = (std::fs::read(a).expect("reads"), std::fs::read(b).expect("reads"));
        assert_eq!(content, again, "{} differs", a.display());
    }

    let missing = crate::stated::unclassified(Path::new(&one)).expect("a tree");
    assert!(missing.is_empty(), "stated.toml lacks {missing:#?}");
    let report = loadgen_node(&["check", &one, "--json"]).expect(1).json();
    let outcome = |rule: &str| {
        let findings = report["judgements"][0]["findings"].as_array().expect("findings");
        let of_rule: Vec<_> = findings.iter().filter(|finding| finding["rule"] == rule).collect();
        assert!(!of_rule.is_empty(), "{rule} is missing");
        let is = |outcome: &str| of_rule.iter().any(|finding| finding["outcome"] == outcome);
        if is("fail") {
            "fail"
        } else if is("cannot-tell") {
            "cannot-tell"
        } else {
            "pass"
        }
        .to_owned()
    };
    // Rules that short runs on one machine violate, and rules that they meet.
    for rule in ["N4", "N5", "N32", "N38"] {
        assert_eq!(outcome(rule), "fail", "{rule}\n{report:#}");
    }
    for rule in ["N3", "N7", "N8", "N9", "N10", "N13", "N15", "N16", "N17", "N18", "N20", "N31"] {
        assert_eq!(outcome(rule), "pass", "{rule}\n{report:#}");
    }
}
