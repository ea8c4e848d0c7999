//! `loadgen-node sweep`: steps, search, continuation, and whose limit a step shows.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use e2e::{
    Folder, SutNode,
    process::{Ended, children, command, loadgen_node, send_signal, wait_until},
};
use serde_json::Value;

/// Starts a node that answers 32 samples in 20 ms: 1,600 samples/s, however fast the machine is.
fn node(name: &str) -> SutNode {
    SutNode::echo(name, &["--echo-batch", "20ms", "--max-batch", "32"])
}

/// Returns the options of a sweep of quick steps, whose bound any machine meets unless the nodes fall
/// behind. Those of `more` replace options of the same name.
fn options(nodes: &str, output: &str, more: &[&str]) -> Vec<String> {
    let base: [&str; 7] = [
        &format!("--nodes={nodes}"),
        &format!("--output={output}"),
        "--benchmark=fabric",
        "--dataset=synthetic:64x16",
        "--setting=server_target_latency_ns=400000000",
        "--step-time=1500ms",
        "--step-samples=700",
    ];
    let name = |option: &&str| option.split('=').next().unwrap_or_default().to_owned();
    let replaced: Vec<_> = more.iter().map(name).collect();
    let base = base.into_iter().filter(|option| !replaced.contains(&name(option)));
    ["sweep"].into_iter().chain(base).chain(more.iter().copied()).map(Into::into).collect()
}

fn sweep(nodes: &str, output: &str, more: &[&str]) -> Ended {
    Ended::of(command("loadgen-node").args(options(nodes, output, more)))
}

fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("sweep.json")).expect("a record")).expect("JSON")
}

/// Returns the steps of a record, each with its number of nodes and its load.
fn steps(record: &Value) -> Vec<(u64, f64, &Value)> {
    let steps = record["steps"].as_array().expect("steps").iter();
    let number = |step: &Value, key: &str| step[key].as_f64().expect("a number");
    steps.map(|step| (number(step, "nodes") as u64, number(step, "load"), step)).collect()
}

#[test]
fn a_sweep_ends_within_five_percent_of_what_the_nodes_sustain() {
    let (a, folder) = (node("a"), Folder::create());
    let ended = sweep(&a.address, &folder.path("sweep"), &["--rates=400,800,6400"]);
    let ended = ended.expect_text(0, "highest VALID rate  1 node: ");
    assert!(ended.stdout.contains("sweep/report.html"), "{}", ended.stdout);
    let record = record(&folder.root().join("sweep"));
    let best = &record["best"][0];
    let (valid, invalid) = (best["load"].as_f64(), best["lowest_invalid"].as_f64());
    let (valid, invalid) = valid.zip(invalid).expect("both ends");
    // In 1.5 s, nodes of 1,600 samples/s fall behind by less than the bound up to 2,000.
    assert!(
        (400.0..2100.0).contains(&valid) && valid < invalid && invalid <= 1.05 * valid,
        "{best}"
    );
    assert_eq!(record["finished"], true);
    let searched = steps(&record).iter().filter(|(.., step)| step["searched"] == true).count();
    assert!(searched >= 3, "{record}");
    for (_, load, step) in steps(&record) {
        // Whole passes of 64 samples, and at least 1.5 s at the rate.
        let samples = step["samples"].as_u64().expect("a number");
        assert!(samples % 64 == 0 && samples as f64 >= 1.5 * load && samples >= 700, "{step}");
        assert_eq!(step["passes"].as_u64(), Some(samples / 64));
        assert!(load <= valid || step["verdict"] == "INVALID", "{step}");
        assert_eq!(step["lost"], 0);
    }
    let rows =
        csv::Reader::from_path(folder.path("sweep/sweep.csv")).expect("a table").records().count();
    assert_eq!(rows, steps(&record).len());
}

#[test]
fn a_sweep_of_a_language_model_has_tokens_for_each_set_of_nodes() {
    let folder = Folder::create();
    let node = |name| {
        let speed = ["--tokens-ttft", "5ms", "--tokens-tpot", "1ms", "--tokens-output", "10"];
        SutNode::start(name, &[&["--engine", "tokens"], &speed[..]].concat())
    };
    let nodes = [node("a"), node("b")];
    let addresses = nodes.each_ref().map(|node| node.address.as_str()).join(",");
    let ended = sweep(
        &addresses,
        &folder.path("sweep"),
        &[
            "--dataset=synthetic-ids:64x4-9",
            "--setting=use_token_latencies=true",
            "--setting=server_ttft_latency=500000000",
            "--setting=server_tpot_latency=100000000",
            "--rates=500,700",
            "--nodes-of=1,2",
            "--no-search",
        ],
    );
    ended.expect_text(0, "TTFT, ms");
    let record = record(&folder.root().join("sweep"));
    let steps = steps(&record);
    let places: Vec<_> = steps.iter().map(|(nodes, load, _)| (*nodes, *load)).collect();
    assert_eq!(places, [(1, 500.0), (1, 700.0), (2, 500.0), (2, 700.0)]);
    assert_eq!(record["bounds"]["first_token_ns"], 5e8);
    assert_eq!(record["bounds"]["further_token_ns"], 1e8);
    assert_eq!(record["bounds"].get("latency_ns"), None);
    for (nodes, load, step) in steps {
        let number = |pointer: &str| step.pointer(pointer).and_then(Value::as_f64).expect(pointer);
        assert!(number("/first_token_ns/p50") >= 5e6 && number("/further_token_ns/p50") >= 0.9e6);
        // Ten tokens in about 14 ms.
        assert!((1.0..800.0).contains(&number("/tokens_per_second_per_user")), "{step}");
        assert!(number("/tokens_per_second") > 2.0 * load, "{step}");
        let run = folder.json(&format!("sweep/nodes-{nodes}/rate-{load}/result.json"));
        assert_eq!(run["nodes"].as_array().map(Vec::len), Some(nodes as usize));
    }
}

#[test]
fn a_concurrency_has_times_of_tokens_that_netdiv_measured() {
    let folder = Folder::create();
    let speed = ["--tokens-ttft", "5ms", "--tokens-tpot", "1ms", "--tokens-output", "10"];
    let a = SutNode::start("a", &[&["--engine", "tokens"], &speed[..]].concat());
    let more = [
        "--dataset=synthetic-ids:64x4-9",
        "--setting=use_token_latencies=true",
        "--concurrency=4",
        "--step-time=1s",
        "--step-samples=64",
        "--nodes-expected=1",
    ];
    sweep(&a.address, &folder.path("sweep"), &more).expect_text(0, "TTFT, ms");
    let record = record(&folder.root().join("sweep"));
    assert_eq!(record["latency_source"], "netdiv");
    let step = &record["steps"][0];
    let number = |pointer: &str| step.pointer(pointer).and_then(Value::as_f64).expect(pointer);
    assert!((5e6..2e9).contains(&number("/first_token_ns/p50")), "{step}");
    assert!((0.9e6..2e8).contains(&number("/further_token_ns/p50")), "{step}");
    assert!(folder.read("sweep/sweep.csv").contains("samples in flight,netdiv,"));
    assert!(folder.read("sweep/report.html").contains("measured from sending"));
}

#[test]
fn a_concurrency_limits_the_samples_in_flight_over_all_nodes() {
    let (a, b, folder) = (node("a"), node("b"), Folder::create());
    let nodes = format!("{},{}", a.address, b.address);
    let more = ["--concurrency=2,8", "--step-samples=100"];
    let ended = sweep(&nodes, &folder.path("sweep"), &more);
    ended.expect_text(0, "latencies are netdiv's own, measured from sending");
    let record = record(&folder.root().join("sweep"));
    assert_eq!((&record["load"], &record["best"]), (&"concurrency".into(), &Value::Array(vec![])));
    let steps = steps(&record);
    let rate = |place: usize| steps[place].2["samples_per_second"].as_f64().expect("a rate");
    assert!(rate(1) > 2.0 * rate(0), "{record}");
    for (_, load, step) in &steps {
        let run = folder.root().join("sweep").join(step["folder"].as_str().expect("a folder"));
        let mut series = csv::Reader::from_path(run.join("series.csv")).expect("a series");
        for row in series.deserialize::<BTreeMap<String, String>>() {
            let row = row.expect("a row");
            assert!(row["in_flight"].parse::<f64>().expect("a number") <= *load, "{row:?}");
        }
        // A batch takes 20 ms, and waiting for the samples before does not count.
        let p50 = step["latency_ns"]["p50"].as_f64().expect("a time");
        assert!((2e7..2e9).contains(&p50), "{step}");
        assert!(step["seconds"].as_f64().expect("a time") >= 0.9 * 1.5, "{step}");
        let page = loadgen_node(&["report", &run.display().to_string(), "--output", "-"]);
        page.expect_text(0, "measured from sending");
    }
}

/// Starts a sweep of five steps, whose user.conf has the bound.
fn start(nodes: &str, folder: &Folder, more: &[&str]) -> Child {
    let mut options = options(nodes, &folder.path("sweep"), more);
    options.push(format!("--user-conf={}", folder.path("user.conf")));
    if !more.iter().any(|option| option.starts_with("--rates")) {
        options.push("--rates=500,501,502,503,504".into());
    }
    let mut sweep = command("loadgen-node");
    sweep.args(options).arg("--no-search").stderr(Stdio::piped()).stdout(Stdio::piped());
    sweep.spawn().expect("the program starts")
}

fn finish(nodes: &str, folder: &Folder, more: &[&str]) -> Ended {
    start(nodes, folder, more).wait_with_output().expect("an end").into()
}

/// Waits until a step is in LoadGen's test, and returns the process of its run.
fn wait_for_step(sweep: &Child, folder: &Folder, rate: u64) -> u32 {
    let log = folder.root().join(format!("sweep/nodes-1/rate-{rate}/series.csv"));
    wait_until("a step begins", || log.exists() && !children(sweep.id()).is_empty());
    children(sweep.id()).pop().expect("a run")
}

/// Returns the content of all files of the finished steps.
fn bytes(folder: &Folder, rates: &[u64]) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = rates.iter().map(|rate| folder.root().join(format!("sweep/nodes-1/rate-{rate}")));
    let files = folders.flat_map(|folder| fs::read_dir(folder).expect("a step"));
    files
        .map(|file| file.expect("a file").path())
        .map(|path| (path.clone(), fs::read(&path).expect("a file")))
        .collect()
}

#[test]
fn a_killed_sweep_continues_and_keeps_its_finished_steps() {
    let (a, folder) = (node("a"), Folder::create());
    let conf = "*.Server.target_latency = 400\n";
    folder.write("user.conf", conf);
    let mut sweep = start(&a.address, &folder, &[]);
    let run = wait_for_step(&sweep, &folder, 503);
    send_signal(sweep.id(), "-KILL");
    send_signal(run, "-KILL");
    sweep.wait().expect("an end");
    let (before, files) = (record(&folder.root().join("sweep")), bytes(&folder, &[500, 501, 502]));
    assert_eq!((steps(&before).len(), &before["finished"]), (3, &false.into()));

    let refuse = |more: &[&str], text: &str| {
        finish(&a.address, &folder, more).expect_text(2, text);
    };
    refuse(&[], "holds a sweep or its steps; continue it with --resume");
    refuse(&["--resume", "--step-time=1400ms"], "--step-time: \"1500ms\", now \"1400ms\"");
    refuse(&["--resume", "--step-samples=800"], "--step-samples: 700, now 800");
    refuse(&["--resume", "--setting=server_coalesce_queries=false"], "--setting: [");
    folder.write("user.conf", "*.Server.target_latency = 401\n");
    refuse(&["--resume"], "content of user-conf");
    folder.write("user.conf", conf);

    // This time only the sweep is killed: its run goes on, and the next sweep waits for it.
    let mut sweep = start(&a.address, &folder, &["--resume"]);
    wait_for_step(&sweep, &folder, 504);
    send_signal(sweep.id(), "-KILL");
    sweep.wait().expect("an end");
    finish(&a.address, &folder, &["--resume"]).expect(0);
    let after = record(&folder.root().join("sweep"));
    assert_eq!((steps(&after).len(), &after["finished"]), (5, &true.into()));
    assert_eq!(
        before["steps"].as_array().map(|steps| &steps[..]),
        after["steps"].as_array().map(|steps| &steps[..3])
    );
    assert!(bytes(&folder, &[500, 501, 502]) == files, "finished steps have changed");
    let exists = |name: &str| folder.root().join("sweep/nodes-1").join(name).exists();
    assert!(exists("rate-503.unfinished-1") && !exists("rate-504.unfinished-1"));

    // Another model behind the same name is not the cluster of the steps before.
    let text = "its configuration is not that of the steps before";
    drop(a);
    let other = SutNode::echo("a", &["--echo-batch", "21ms", "--max-batch", "32"]);
    fs::remove_dir_all(folder.root().join("sweep/nodes-1/rate-504")).expect("a step");
    let old = before["nodes"][0].as_str().expect("an address");
    let steps = [500, 501, 502, 503].map(|rate| format!("nodes-1/rate-{rate}/result.json"));
    for file in ["sweep.json".to_owned()].iter().chain(&steps) {
        let record = folder.read(&format!("sweep/{file}"));
        folder.write(&format!("sweep/{file}"), record.replace(old, &other.address));
    }
    finish(&other.address, &folder, &["--resume"]).expect_text(2, text);
}

#[test]
fn a_sweep_that_ends_early_says_why_and_how_to_continue() {
    let (a, folder) = (node("a"), Folder::create());
    folder.write("user.conf", "*.Server.target_latency = 400\n");
    let sweep = start(&a.address, &folder, &[]);
    wait_for_step(&sweep, &folder, 501);
    send_signal(sweep.id(), "-TERM");
    let ended: Ended = sweep.wait_with_output().expect("an end").into();
    ended.expect_text(3, "a signal ended it; continue with --resume");
    // The run ended, too.
    let step = folder.json("sweep/nodes-1/rate-501/result.json");
    assert_eq!(step["verdict"], "FAILED");

    // A step of other settings is not taken over, whether the sweep continues or begins.
    let swept = folder.root().join("sweep");
    fs::remove_dir_all(swept.join("nodes-1/rate-501")).expect("a step");
    fs::rename(swept.join("nodes-1/rate-500"), swept.join("nodes-1/rate-501")).expect("a step");
    let text = "server_target_qps=500";
    finish(&a.address, &folder, &["--resume"]).expect_text(2, text);
    fs::remove_file(swept.join("sweep.json")).expect("a record");
    finish(&a.address, &folder, &[]).expect_text(2, "holds a sweep or its steps");

    // A node that is lost is the reason.
    fs::remove_dir_all(&swept).expect("a sweep");
    let sweep = start(&a.address, &folder, &[]);
    wait_for_step(&sweep, &folder, 501);
    drop(a);
    let ended: Ended = sweep.wait_with_output().expect("an end").into();
    ended.expect_text(3, "nodes-1/rate-501: ").expect_text(3, "node a");
}

#[test]
fn a_stopped_loadgen_node_is_the_limit_of_a_step() {
    let (a, folder) = (node("a"), Folder::create());
    folder.write("user.conf", "*.Server.target_latency = 400\n");
    let mut sweep = start(&a.address, &folder, &["--rates=500"]);
    // A fifth of a core, as cpulimit would give it.
    while sweep.try_wait().expect("a process").is_none() {
        for run in children(sweep.id()) {
            // The run may have ended.
            let send = |signal| {
                drop(Command::new("kill").arg(signal).arg(run.to_string()).status());
            };
            send("-STOP");
            thread::sleep(Duration::from_millis(80));
            send("-CONT");
        }
        thread::sleep(Duration::from_millis(15));
    }
    let ended: Ended = sweep.wait_with_output().expect("an end").into();
    let record = record(&folder.root().join("sweep"));
    let why = record["steps"][0]["client_limit"].as_str().unwrap_or_else(|| panic!("{record}"));
    assert!(why.contains("LoadGen node on ") && why.contains("woke up"), "{why}");
    assert!(ended.stdout.contains("client's limit"), "{}", ended.stdout);
    assert!(folder.read("sweep/report.html").contains("woke up"), "{why}");
}

#[test]
fn invalid_sweeps_are_refused() {
    let folder = Folder::create();
    let output = folder.path("sweep");
    for (more, text) in [
        (&["--rates=0"][..], "must be from 0.001"),
        (&["--rates=9..3"], "does not rise"),
        (&["--rates=-5"], "must be from 0.001"),
        (&["--concurrency=1.5"], "not a whole number"),
        (&["--rates=5", "--concurrency=5"], "cannot be used with"),
        (&["--nodes-of=2"], "--nodes-of 2: --nodes names 1 node"),
        (&["--nodes-of=0"], "--nodes-of 0: --nodes names 1 node"),
        (&["--scenario=offline"], "add --scenario server"),
        (&["--scenario=server", "--concurrency=4"], "add --scenario offline"),
        (&["--mode=accuracy"], "a sweep runs in the mode performance"),
        (&["--division=network"], "add --division exploratory"),
        (&["--setting=server_target_qps=9"], "each step sets it"),
        (&["--max-in-flight=9"], "give --concurrency"),
        (&["--audit-config=Cargo.toml"], "runs no compliance test"),
        (&["--step-time=0s"], "--step-time 0s"),
        (&["--step-samples=0"], "--step-samples 0"),
        (&["--resume"], "holds no sweep"),
        (&["--dataset=/nowhere"], "/nowhere"),
        (&["--rates=700"], "127.0.0.1:1"),
    ] {
        let ended = sweep("127.0.0.1:1", &output, more).expect(2);
        assert!(ended.said().contains(text), "{more:?}: {}", ended.said());
    }
    let run = [
        "run",
        "--nodes=127.0.0.1:1",
        "--benchmark=fabric",
        "--dataset=synthetic:4x4",
        "--max-in-flight=3",
    ];
    for more in [
        &["--scenario=server"][..],
        &["--scenario=offline", "--division=network"],
        &["--scenario=offline", "--division=open"],
        &["--scenario=offline", "--mode=accuracy"],
    ] {
        loadgen_node(&[&run[..], more].concat()).expect_text(2, "max-in-flight");
    }
}
