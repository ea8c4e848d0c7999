//! A language model according to the rules: runs with official LoadGen, TEST06 through `audit`, a
//! submission, and its check.

use std::{path::Path, process::Command};

use e2e::{
    Behaviour, FakeEngine, FakeNode, Folder, SutNode,
    fake_engine::{EngineFault, EngineFaultKind, FaultPoint, MODEL, PROBE},
    fake_node::output_message,
    process::{Ended, loadgen_node, transport},
    round::own_round,
};
use netdiv_contract::v1::Part;
use serde_json::Value;

/// The engine takes 100 ms for an output as long as the benchmark's. That is no faster than the
/// requested rate, so any machine keeps up.
const USER_CONF: &str = "llama2-70b.Offline.target_qps = 500\nllama2-70b.Server.target_qps = 200\n";
const ENGINE: [&str; 10] = [
    "--engine",
    "tokens",
    "--tokens-ttft",
    "100ms",
    "--tokens-tpot",
    "1us",
    "--tokens-output",
    "285-304",
    "--max-batch",
    "32",
];

/// Output of the official accuracy script with NumPy 2. The engine has no model that would reach
/// these scores.
const PRINTED: &str = "\nResults\n\n{'rouge1': np.float64(44.5), 'rouge2': np.float64(22.1), 'rougeL': np.float64(28.7), 'gen_len': \
                       np.int64(1), 'tokens_per_sample': MEAN}\n";

/// A folder for the runs of llama2-70b-99.9.
struct Runs(Folder);

impl Runs {
    fn new() -> Self {
        let folder = Folder::create();
        folder.write("user.conf", USER_CONF);
        folder.write("tiny.toml", MODEL);
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path(name)
    }

    fn read(&self, name: &str) -> String {
        self.0.read(name)
    }

    fn json(&self, name: &str) -> Value {
        self.0.json(name)
    }

    /// Makes a rehearsal of a scenario, in a folder with this name: it is short, and on one
    /// machine.
    fn run(&self, nodes: &str, scenario: &str, name: &str, args: &[&str]) -> Ended {
        let (output, user_conf) =
            (self.path(&format!("{scenario}/{name}")), self.path("user.conf"));
        let common = ["run", "--division", "network", "--rehearsal", "--transport", transport()];
        let benchmark =
            ["--benchmark", "llama2-70b-99.9", "--dataset", "synthetic-ids:1100x4-1024"];
        let samples = ["--performance-samples", "1100", "--user-conf", &user_conf];
        let places = ["--nodes", nodes, "--scenario", scenario, "--output", &output];
        let all = [&common[..], &benchmark, &samples, &places, args].concat();
        let ended = loadgen_node(&all);
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
        ended
    }

    /// Runs and verifies the compliance test over these nodes.
    fn audit(&self, nodes: &str, scenario: &str) -> Ended {
        let folder = |name: &str| self.path(&format!("{scenario}/{name}"));
        let runs = [folder("performance"), folder("accuracy"), folder("compliance")];
        let names = ["--performance", "--accuracy", "--output"];
        let pairs = names.iter().zip(&runs).flat_map(|(name, run)| [*name, run]);
        let args: Vec<_> =
            ["audit"].into_iter().chain(pairs).chain(["--", "--nodes", nodes]).collect();
        loadgen_node(&args)
    }

    /// Returns the entries of TEST06's accuracy log.
    fn test06(&self, scenario: &str) -> Vec<Value> {
        let log = self.json(&format!("{scenario}/compliance/TEST06/mlperf_log_accuracy.json"));
        log.as_array().expect("a list").clone()
    }

    /// Returns the mean number of tokens per output of the accuracy run, as the nodes counted them.
    fn mean(&self, scenario: &str) -> f64 {
        let result = self.json(&format!("{scenario}/accuracy/result.json"));
        let nodes = result["nodes"].as_array().expect("a list");
        // A node that got no samples has no count.
        let sum = |of: fn(&Value) -> &Value| -> u64 {
            nodes.iter().filter_map(|node| of(node).as_u64()).sum()
        };
        sum(|node| &node["tokens"]["total"]) as f64 / sum(|node| &node["answered"]) as f64
    }
}

const ACCURACY: [&str; 2] = ["--mode", "accuracy"];
const SHORT: [&str; 4] = ["--setting", "min_duration_ms=1500", "--setting", "min_query_count=700"];

/// Runs `check`. Returns rule and text of each failed finding, and the whole report.
fn check(folder: &str) -> (Vec<(String, String)>, Value) {
    // One machine is not a network.
    let report = loadgen_node(&["check", folder, "--json"]).expect(1).json();
    let findings = report["judgements"][0]["findings"].as_array().expect("findings");
    let broken = findings.iter().filter(|finding| finding["outcome"] == "fail");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (broken.map(|one| (text(&one["rule"]), text(&one["text"]))).collect(), report)
}

#[test]
fn from_runs_of_a_language_model_to_a_submission() {
    let started = ["node-a", "node-b"].map(|name| SutNode::start(name, &ENGINE));
    let nodes = started.each_ref().map(|node| node.address.as_str()).join(",");
    let runs = Runs::new();
    for scenario in ["offline", "server"] {
        runs.run(&nodes, scenario, "performance", &SHORT);
        let said = runs.run(&nodes, scenario, "accuracy", &ACCURACY).stdout;
        let folder = runs.path(&format!("{scenario}/accuracy"));
        let next = format!("loadgen-node accuracy {folder} --reference INFERENCE -- --");
        assert!(said.contains(&next) && !said.contains("python3 "), "{said}");
        runs.run(&nodes, scenario, "digests", &[&SHORT[..], &["--digests"]].concat());
        let text = runs.audit(&nodes, scenario).expect_text(0, "TEST06: pass").said();
        let says_why = text.contains("LoadGen calls this run INVALID, as it does every TEST06");
        assert_eq!(says_why, scenario == "server", "{text}");
        let (broken, _) = check(&runs.path(&format!("{scenario}/compliance/TEST06")));
        assert!(broken.iter().all(|(rule, _)| rule != "N33"), "{broken:#?}");
        let log = runs.test06(scenario);
        assert_eq!(log.len(), 100);
        assert!(log.iter().all(|entry| entry["token_data"].is_string() == (scenario == "server")));
        let verified = runs.read(&format!("{scenario}/compliance/TEST06/verify_accuracy.txt"));
        let first = if scenario == "server" { "True" } else { "Skipped" };
        assert_eq!(
            verified,
            format!(
                "First token check pass: {first}\nEOS check pass: True\nSample length check pass: True\n\
                 TEST06 verification complete\n"
            )
        );
        let printed = PRINTED.replace("MEAN", &format!("{:.1}", runs.mean(scenario)));
        runs.0.write(&format!("{scenario}/accuracy.txt"), printed);
        let result = runs.json(&format!("{scenario}/accuracy/result.json"));
        let script = result["official_accuracy"].as_str().expect("a command");
        assert!(
            script.contains("llama2-70b/evaluate-accuracy.py") && script.contains("int32"),
            "{script}"
        );
    }

    let settings = include_str!("../rehearsal/submission.toml").replace("@ROUND@", &own_round());
    let settings = settings.replace(":lg0", ":lo").replace(":sut0", ":lo");
    let settings =
        settings.replace("\"resnet50\"", "\"llama2-70b-99.9\"").replace("\"uint8\"", "\"int32\"");
    let settings = ["offline", "server"].into_iter().fold(settings, |settings, scenario| {
        let digests = format!("digests = \"{scenario}/digests\"\n");
        settings
            .replace(&digests, &format!("{digests}accuracy_txt = \"{scenario}/accuracy.txt\"\n"))
    });
    // Evidence never contains the driver of a loopback interface.
    let stack = ["loadgen", "sut"].map(|end| format!("net_software_stack_{end} = \"Linux TCP\"\n"));
    let settings = settings.replace("[system]\n", &format!("[system]\n{}", stack.concat()));
    runs.0.write("calibration.md", "Nothing was calibrated.\n");
    let (settings, tree) = (runs.0.write("submission.toml", settings), runs.path("tree"));
    let args = ["submission", "--settings", &settings, "--output", &tree, "--rehearsal"];
    loadgen_node(&args).expect(0);
    keep(&tree);
    let missing = crate::stated::unclassified(Path::new(&tree)).expect("a tree");
    assert!(missing.is_empty(), "stated.toml lacks {missing:#?}");

    let results = Path::new(&tree).join("network/Rehearsal/results/two-namespaces/llama2-70b-99.9");
    for scenario in ["Offline", "Server"] {
        let read = |name: &str| {
            std::fs::read_to_string(results.join(scenario).join("accuracy").join(name))
                .expect("a file")
        };
        // The checker reads bare figures. The hash covers the whole log, of which the tree has the
        // beginning and the end.
        let printed = read("accuracy.txt");
        assert!(
            printed.contains("'rouge1': np.float64(44.5)") && printed.contains("'rouge1': 44.5,"),
            "{printed}"
        );
        let whole = runs.json(&format!("{}/accuracy/result.json", scenario.to_lowercase()));
        let hash = whole["logs"]["mlperf_log_accuracy.json"].as_str().expect("a hash");
        assert!(printed.ends_with(&format!("\nhash={hash}\n")), "{printed}");
        let log = read("mlperf_log_accuracy.json");
        assert!(log.contains("\n\n...\n\n") && log.contains("\"token_count\""), "{log}");
    }
    let (broken, report) = check(&tree);
    // True findings for an engine without a model, a part of the data set, one machine, and short
    // runs.
    const TRUE: [&str; 8] = ["N2", "N4", "N5", "N6", "N28", "N32", "N36", "N38"];
    // This test does not depend on the current speed of the machine.
    const SPEED: [&str; 3] = ["Name() took", "result_validity is INVALID", "verdict is Invalid"];
    for (rule, text) in &broken {
        let is_speed = SPEED.iter().any(|words| text.contains(words));
        assert!(TRUE.contains(&rule.as_str()) || is_speed, "{rule}: {text}");
    }
    for words in ["its engine, `tokens`", "1100 samples"] {
        let is_of_n2 = |(rule, text): &(String, String)| rule == "N2" && text.contains(words);
        assert!(broken.iter().any(is_of_n2), "{words}: {report:#}");
    }
}

/// Copies a tree to the path in `NETDIV_KEEP_TREE`, such as for the official checker.
fn keep(tree: &str) {
    if let Some(place) = std::env::var_os("NETDIV_KEEP_TREE") {
        let copied = Command::new("cp").arg("-r").arg(tree).arg(place).status();
        assert!(copied.is_ok_and(|status| status.success()), "the tree is copied");
    }
}

/// Starts a node whose outputs all end twice.
fn liar() -> FakeNode {
    FakeNode::start(Behaviour::of_tokens("liar", |_, r| {
        vec![output_message(&r, Part::First, &[5]), output_message(&r, Part::Whole, &[5, 2, 2])]
    }))
}

#[test]
fn answers_that_end_twice_fail_test06() {
    let runs = Runs::new();
    // A fake node counts requests over its whole life, and a run compares the count, so each run
    // needs a new node.
    let liars = [liar(), liar(), liar()];
    runs.run(&liars[0].address, "server", "performance", &SHORT);
    runs.run(&liars[1].address, "server", "accuracy", &ACCURACY);
    runs.audit(&liars[2].address, "server")
        .expect_text(1, "100 of 100 responses end with the token 2 twice");
    let verified = runs.read("server/compliance/TEST06/verify_accuracy.txt");
    assert!(
        verified.starts_with(
            "First token check pass: True\nEOS check pass: False\nSample length check pass: True\n\
             TEST06 verification failed\n"
        ),
        "{verified}"
    );
}

#[test]
fn answers_of_one_token_are_a_finding_by_name() {
    let node = SutNode::start("a", &["--engine", "tokens", "--tokens-output", "1-9"]);
    let runs = Runs::new();
    // LoadGen logs an error.
    runs.run(&node.address, "server", "performance", &SHORT)
        .expect_text(1, "answers of one token (first samples: ");
    let result = runs.json("server/performance/result.json");
    let findings = result["findings"].as_array().expect("a list");
    assert!(findings.iter().any(|finding| finding["rule"] == "N33"), "{findings:#?}");
    let (broken, report) = check(&runs.path("server/performance"));
    let is_named =
        |(rule, text): &(String, String)| rule == "N33" && text.contains("answers of one token");
    assert!(broken.iter().any(is_named), "{report:#}");
}

#[test]
fn servers_behind_a_node_have_equal_shares() {
    let (engines, runs) = ([(); 4].map(|()| FakeEngine::start(None)), Runs::new());
    let (urls, model) =
        (engines.each_ref().map(|engine| engine.url.as_str()), runs.path("tiny.toml"));
    let args = ["--engine", "openai", "--url", &urls.join(","), "--model", &model];
    for (scenario, most) in [("server", "64"), ("offline", "3")] {
        let node = SutNode::start("a", &[&args[..], &["--max-batch", most]].concat());
        let stdout = runs.run(&node.address, scenario, "shares", &SHORT).stdout;
        let result = runs.json(&format!("{scenario}/shares/result.json"));
        let servers = &result["nodes"][0]["servers"];
        let shares = urls.map(|url| servers[url].as_u64().expect("a count"));
        assert_eq!(shares.iter().sum::<u64>(), result["samples"]["completed"], "{servers}");
        let (least, all) = (shares.iter().min().expect("four"), shares.iter().sum::<u64>());
        assert!(least * 5 >= all, "{scenario}: {servers}");
        assert!(stdout.contains(&format!("{} {}", urls[3], shares[3])), "{stdout}");
    }
}

#[test]
fn more_samples_in_flight_than_connections_are_refused_at_the_start() {
    let folder = Folder::create();
    let model = folder.write("tiny.toml", MODEL);
    let args = ["--engine", "openai", "--url", "http://127.0.0.1:9", "--model", &model];
    for (instances, in_flight) in [("1", "65536"), ("2", "131072")] {
        let most = ["--max-batch", "65536", "--instances", instances];
        let log = SutNode::try_start("a", &[&args[..], &most].concat());
        let log = log.map(drop).expect_err("there are fewer ports");
        let in_flight = format!("{in_flight} samples in flight to each server");
        let words = [&in_flight[..], "local ports", "net.ipv4.ip_local_port_range"];
        assert!(words.iter().all(|words| log.contains(words)), "{log}");
    }
}

#[test]
fn prompts_that_an_engine_reuses_in_mid_run_are_a_finding_by_name() {
    let requests = PROBE + 10..PROBE + 12;
    let mishap = EngineFault { requests, after: FaultPoint::End, wrong: EngineFaultKind::Cached };
    let (engine, runs) = (FakeEngine::start(Some(mishap)), Runs::new());
    let (url, model) = (engine.url.as_str(), runs.path("tiny.toml"));
    let node = SutNode::start("a", &["--engine", "openai", "--url", url, "--model", &model]);
    let stdout = runs.run(&node.address, "offline", "accuracy", &ACCURACY).stdout;
    assert!(stdout.contains("2 prompt tokens were not computed"), "{stdout}");
    let result = runs.json("offline/accuracy/result.json");
    assert_eq!(result["nodes"][0]["cached_prompt_tokens"], 2, "{result:#}");
    let findings = result["findings"].as_array().expect("a list");
    let reused = "reused 2 prompt tokens from other prompts";
    let is_named = |finding: &Value| {
        finding["rule"] == "N10"
            && finding["text"].as_str().is_some_and(|text| text.contains(reused))
    };
    assert!(findings.iter().any(is_named), "{findings:#?}");
    let (broken, report) = check(&runs.path("offline/accuracy"));
    assert!(broken.iter().any(|(rule, text)| rule == "N10" && text.contains(reused)), "{report:#}");
}

/// Asserts LoadGen's own verdict with the bounds of its mlperf.conf. The engine has no model, which
/// only a rehearsal may use.
#[test]
fn server_runs_of_the_language_models_of_the_round_are_valid() {
    let engine = [&ENGINE[..3], &["20ms"], &ENGINE[4..8], &["--max-batch", "64"]].concat();
    let node = SutNode::start("a", &engine);
    let folder = Folder::create();
    for (benchmark, model) in [
        ("llama2-70b-99.9", "llama2-70b"),
        ("llama3.1-8b", "llama3_1-8b"),
        ("deepseek-r1", "deepseek-r1"),
    ] {
        let rate = format!("{model}.Server.target_qps = 400\n");
        let (user_conf, output) = (folder.write("user.conf", rate), folder.path(benchmark));
        let nodes = &node.address;
        let options = ["run", "--division", "network", "--rehearsal", "--transport", transport()];
        let samples = ["--dataset", "synthetic-ids:700x4-64", "--performance-samples", "700"];
        let places = ["--nodes", nodes, "--output", &output, "--user-conf", &user_conf];
        let run = ["--benchmark", benchmark, "--scenario", "server"];
        let args = [&options[..], &samples, &places, &run, &SHORT].concat();
        let stdout = loadgen_node(&args).expect(0).stdout;
        assert!(stdout.starts_with(&format!("{benchmark} server performance: VALID")), "{stdout}");
        assert!(stdout.contains("tokens per prompt"), "{stdout}");
        let result = folder.json(&format!("{benchmark}/result.json"));
        assert!((4.0..=64.0).contains(&result["prompt_tokens"]["mean"].as_f64().expect("a mean")));
    }
}
