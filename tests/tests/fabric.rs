//! The bandwidth test of the fabric, and messages as long as the longest of the benchmarks.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

use e2e::{
    Folder, LoadGen, SutNode,
    process::{Ended, command, loadgen_node, transport},
    relay::{Faults, Relay},
};
use serde_json::Value;

const TRANSPORTS: [&str; 2] = ["grpc", "quic"];

/// Runs `loadgen-node fabric` with short measurements. Returns its end, and the report.
fn fabric(addresses: &[&str], args: &[&str]) -> (Ended, Value) {
    let folder = Folder::create();
    let times = [["--duration", "50ms"], ["--warm-up", "20ms"]];
    let times = times.iter().filter(|[option, _]| !args.contains(option)).flatten();
    let mut fabric = command("loadgen-node");
    fabric.args(["fabric", "--nodes", &addresses.join(",")]).args(times).args(args);
    let ended = Ended::of(fabric.current_dir(folder.root()));
    let out = folder.root().join("out");
    if !out.join("fabric/fabric.json").exists() {
        assert!(!out.exists(), "an output folder without a measurement: {}", ended.said());
        return (ended, Value::Null);
    }
    let report = folder.json("out/fabric/fabric.json");
    let measured = report["bandwidth"].as_array().is_some_and(|cells| !cells.is_empty());
    let svg = fs::read_to_string(out.join("fabric/fabric.svg"));
    assert_eq!(svg.is_ok_and(|svg| svg.starts_with("<svg")), measured);
    (ended, report)
}

#[test]
fn every_figure_is_there_over_both_transports() {
    let nodes = ["a", "b"].map(|name| SutNode::start(name, &["--engine", "none"]));
    for transport in TRANSPORTS {
        let args = ["--transport", transport, "--sizes", "64,300000", "--connections", "2"];
        // A size whose messages take twice this time is left out, which a busy machine must not cause.
        let args = [&args[..], &["--rounds", "2", "--duration", "200ms"]].concat();
        let target = ["--target", "resnet50=1,3d-unet=1000000000"];
        let addresses = nodes.each_ref().map(|node| node.address.as_str());
        let (ended, report) = fabric(&addresses, &[&args[..], &target].concat());
        ended.expect_text(1, "NOT CARRIED").expect_text(1, "via lo (loopback, unknown speed");
        assert_eq!(report["transport"], transport);
        let list = |key: &str| report[key].as_array().expect("a list").clone();
        assert_eq!(list("round_trips").len(), 4, "two sizes, two nodes");
        for trip in list("round_trips") {
            assert!(
                trip["count"].as_u64() > Some(0) && trip["p50_ns"].as_u64() > Some(0),
                "{trip}"
            );
        }
        assert_eq!(list("bandwidth").len(), 6, "two sizes, three directions");
        for cell in list("bandwidth") {
            let number = |rate: &Value, key: &str| rate[key].as_f64().expect("a number");
            let sum = |parts: &str, key: &str| -> f64 {
                cell[parts].as_array().expect("a list").iter().map(|rate| number(rate, key)).sum()
            };
            for key in ["messages_per_second", "bytes_per_second_to_nodes"] {
                let total = number(&cell["total"], key);
                assert!(total > 0.0, "{cell}");
                assert!((sum("nodes", key) / total - 1.0).abs() < 1e-6, "{cell}");
                assert!((sum("streams", key) / total - 1.0).abs() < 1e-6, "{cell}");
            }
            assert_eq!(cell["streams"].as_array().map(Vec::len), Some(4));
            assert_eq!(cell["rounds_bytes_per_second"].as_array().map(Vec::len), Some(2));
            assert!(number(&cell, "processor_seconds_per_byte") > 0.0, "{cell}");
            assert!(number(&cell, "busiest_io_thread") <= 1.0, "{cell}");
            let path = &cell["path"];
            assert_eq!(path["connections"], 4, "{cell}");
            assert!(number(path, "most_round_trip_us") > 0.0, "{cell}");
            assert!(number(path, "congestion_window_bytes") > 1000.0, "{cell}");
            assert_eq!(path["delivery_bytes_per_second"].is_null(), transport == "quic");
            for far in cell["far_ends"].as_array().expect("both nodes") {
                assert!(number(far, "messages_sent") > 0.0, "{cell}");
                assert_eq!(far["messages_sent"], far["messages_received"], "{cell}");
                assert!(number(far, "processor_seconds_per_byte") > 0.0, "{cell}");
            }
            let seconds = sum("intervals", "seconds");
            assert!((seconds - number(&cell, "seconds")).abs() < 1e-6, "{cell}");
            let moved =
                |part: &Value, seconds: f64| number(part, "bytes_per_second_to_nodes") * seconds;
            let intervals = cell["intervals"].as_array().expect("a list").iter();
            let in_intervals: f64 =
                intervals.map(|part| moved(part, number(part, "seconds"))).sum();
            assert!((in_intervals - moved(&cell["total"], seconds)).abs() < 0.5, "{cell}");
            assert!(sum("intervals", "messages") > 0.0, "{cell}");
            let sent = cell["message_bytes"].as_f64().expect("a size").max(16.0);
            let of_one = number(&cell["total"], "bytes_per_second_from_nodes")
                / number(&cell["total"], "messages_per_second");
            let expected = if cell["direction"] == "to nodes" { 0.0 } else { sent };
            assert!(
                (of_one - expected).abs() < 1e-3,
                "{of_one} bytes returned per message: {cell}"
            );
        }
        let carried = |name: &str| {
            let found = list("benchmarks").into_iter().find(|benchmark| benchmark["name"] == name);
            found.map(|benchmark| benchmark["carried"].clone())
        };
        assert_eq!(carried("resnet50"), Some(true.into()));
        assert_eq!(carried("3d-unet"), Some(false.into()));
        assert_eq!(carried("bert"), None, "not requested");
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let none = SutNode::start("a", &["--engine", "none", "--max-payload-bytes", "1000"]);
    let model = SutNode::start("b", &[]);
    for (node, args, words) in [
        (
            &model,
            ["--sizes", "64"],
            "node b runs the engine onnx; for this test start it with --engine none",
        ),
        (&none, ["--sizes", "2000"], "raise --max-payload-bytes there"),
        (&none, ["--sizes", "0"], "--sizes 0: must be from 1 to 268435456"),
        (&none, ["--rounds", "0"], "--rounds 0: must be from 1 to 1000"),
        (&none, ["--rate", "0"], "must be above 0 and at most 100000000"),
        (&none, ["--rate", "NaN"], "must be above 0 and at most 100000000"),
        (&none, ["--soak=1s", "--rate=5"], "--soak and --rate are different measurements"),
        (&none, ["--soak=1s", "--target=bert=5"], "--soak and --target are different"),
        (&none, ["--rate=5", "--benchmark=res"], "--benchmark res: choose one of resnet50, "),
        (&none, ["--soak=1s", "--benchmark=yolo"], "--benchmark yolo: choose one of resnet50, "),
        (&none, ["--benchmark", "yolo"], "--benchmark yolo: choose one of resnet50, "),
        (&none, ["--target", "resnt=5"], "choose one of resnet50, "),
        (&none, ["--target", "resnet50=much"], "`much` is not a number above 0"),
    ] {
        let (ended, report) = fabric(&[&node.address], &args);
        ended.expect_text(2, words);
        assert_eq!(report, Value::Null, "{args:?}");
    }
}

#[test]
fn the_first_figure_comes_soon() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let folder = Folder::create();
    let begin = Instant::now();
    let mut measuring = command("loadgen-node")
        .args(["fabric", "--nodes", &node.address, "--transport", transport()])
        .current_dir(folder.root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("loadgen-node starts");
    let mut log = BufReader::new(measuring.stderr.take().expect("its log"));
    let mut text = String::new();
    while !text.contains("round trip of 64 B to a: p50 ") {
        assert_ne!(log.read_line(&mut text).expect("a line"), 0, "{text}");
    }
    let took = begin.elapsed();
    measuring.kill().expect("a child process");
    measuring.wait().expect("a child process");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(text.contains("this takes about ") && text.contains("--thorough"), "{text}");
}

#[test]
fn connections_are_added_while_that_helps() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let args = ["--transport", transport(), "--sizes", "300000", "--rounds", "1"];
    let (ended, report) = fabric(&[&node.address], &args);
    let text = ended.expect(0).said();
    let tried = report["tried"].as_array().expect("what was tried");
    assert_eq!(tried[0]["connections"], 1);
    for words in [
        "connections tried, both ways: 1 ",
        "1 round of 50 ms",
        "Gbit/s",
        "round 1 of 1, 300000 B both ways: to ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("Appendix B"), "not requested: {text}");
    let most = tried.last().and_then(|tried| tried["connections"].as_u64());
    assert!(report["connections_per_node"].as_u64() <= most, "{report}");
    assert_eq!(report["connections_per_node"], report["io_threads"]);
    for key in ["version", "started", "host"] {
        assert!(report[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
}

#[test]
fn a_slow_node_is_named() {
    let nodes = ["a", "b", "far"].map(|name| SutNode::start(name, &["--engine", "none"]));
    // 20 Mbit/s for one of three.
    let relay = Relay::tcp(&nodes[2].address);
    relay.set(Faults { bytes_per_second: Some(2_500_000), ..Faults::none() });
    let addresses = [&*nodes[0].address, &nodes[1].address, &relay.address];
    let args = ["--sizes", "100000", "--connections", "1", "--rounds", "1"];
    let times = ["--duration", "500ms", "--warm-up", "100ms"];
    let text = fabric(&addresses, &[&args[..], &times].concat()).0.stdout;
    assert!(text.contains("SLOW to nodes: far ("), "{text}");
    assert!(!text.contains("SLOW to nodes: a") && !text.contains("SLOW to nodes: b"), "{text}");
}

#[test]
fn long_messages_are_no_faster_than_the_link() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let relay = Relay::start(&node.address, transport() == "quic", 1);
    // 50 Mbit/s each way: a message takes more than half of a window.
    let link = 6_250_000;
    relay.set(Faults { bytes_per_second: Some(link), ..Faults::none() });
    let args = ["--transport", transport(), "--sizes", "1MiB", "--rounds", "3"];
    let times = ["--warm-up", "300ms", "--duration", "300ms", "--connections", "1"];
    let (_, report) = fabric(&[&relay.address], &[&args[..], &times].concat());
    let cells = report["bandwidth"].as_array().expect("a list");
    assert_eq!(cells.len(), 3, "{report}");
    // The relay and this machine deliver some data late, and then at once.
    let most = 1.1 * link as f64;
    for cell in cells {
        let rounds = cell["rounds_bytes_per_second"].as_array().expect("a list").iter();
        let ways = if cell["direction"] == "both ways" { 2.0 } else { 1.0 };
        let rounds: Vec<_> = rounds.map(|rate| rate.as_f64().expect("a rate") / ways).collect();
        assert!(rounds.iter().all(|rate| *rate <= most), "{rounds:?} above {most}");
        for interval in cell["intervals"].as_array().expect("a list") {
            for key in ["bytes_per_second_to_nodes", "bytes_per_second_from_nodes"] {
                assert!(interval[key].as_f64() <= Some(most), "{interval}");
            }
        }
    }
}

#[test]
fn a_soak_has_its_longest_gap() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let relay = Relay::start(&node.address, transport() == "quic", 1);
    let address = relay.address.clone();
    let cut = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        relay.set(Faults::cut());
        std::thread::sleep(Duration::from_millis(600));
        relay.set(Faults::none());
        relay
    });
    let args = ["--transport", transport(), "--soak", "4s", "--warm-up", "0s"];
    let more = ["--sizes", "10000", "--connections", "1", "--json", "-"];
    let (ended, _) = fabric(&[&address], &[&args[..], &more].concat());
    let _relay = cut.join().expect("the relay's thread");
    // Standard output contains only the report.
    let report = ended.json();
    let soak = &report["soak"];
    assert!(soak["longest_gap_ms"].as_u64() >= Some(500), "{soak}");
    assert!(soak["p99_9_ns"].as_u64() > soak["p50_ns"].as_u64(), "{soak}");
    assert!(soak["intervals"].as_array().map(Vec::len) >= Some(2), "{soak}");
    assert_eq!(report["bandwidth"], Value::Array(Vec::new()));
}

#[test]
fn a_rate_is_kept_or_not() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let over = ["--transport", transport(), "--connections", "1"];
    // Any machine sustains this rate.
    let args = ["--rate", "40", "--duration", "1s", "--benchmark", "bert,llama2-70b"];
    let (ended, report) = fabric(&[&node.address], &[&over[..], &args].concat());
    let text = ended.expect(0).said();
    assert!(!text.contains("outstanding"), "{text}");
    let runs = report["open_loop"].as_array().expect("two");
    let shape = |run: &Value| (run["message_bytes"].as_u64(), run["answer_bytes"].as_u64());
    assert_eq!(shape(&runs[0]), (Some(9216), Some(0)));
    assert_eq!(shape(&runs[1]), (Some(4096), Some(4096)));
    for run in runs {
        assert_eq!((&run["messages"], &run["kept"]), (&40.into(), &true.into()), "{run}");
        let ns = |key: &str| run[key].as_u64().expect("a time");
        assert!(ns("p50_ns") > 0 && ns("p50_ns") <= ns("p99_ns") && ns("p99_ns") <= ns("max_ns"));
    }
    // No machine sustains this rate, and time in the queue counts.
    let args = ["--rate", "1000000", "--duration", "50ms", "--sizes", "64KiB"];
    let (ended, report) = fabric(&[&node.address], &[&over[..], &args].concat());
    ended.expect_text(1, "NOT KEPT");
    let run = &report["open_loop"][0];
    assert!(run["max_ns"].as_u64() > Some(100_000_000), "{run}");
}

#[test]
fn a_rate_above_the_network_says_how_long_it_waits() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let relay = Relay::to(&node.address);
    // 250 messages per second: a thousand of them take four seconds.
    relay.set(Faults { bytes_per_second: Some(2_500_000), ..Faults::none() });
    let args = ["--transport", transport(), "--rate", "1000", "--duration", "1s"];
    let more = ["--sizes", "10000", "--connections", "1"];
    let (ended, report) = fabric(&[&relay.address], &[&args[..], &more].concat());
    let words = ["waiting about ", " outstanding responses", "waited, s", "NOT KEPT"];
    words.iter().fold(ended, |ended, words| ended.expect_text(1, words));
    let run = &report["open_loop"][0];
    assert!(run["waited_ms"].as_f64() > Some(1000.0), "{run}");
}

#[test]
fn help_says_how_to_start_the_nodes() {
    loadgen_node(&["fabric", "--help"]).expect_text(0, "sut-node --engine none");
}

#[test]
fn measurements_are_compared() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let folder = Folder::create();
    let run =
        |args: &[&str]| Ended::of(command("loadgen-node").args(args).current_dir(folder.root()));
    let measure = |name: &str, address: &str| {
        let args = ["fabric", "--nodes", address, "--sizes", "50000", "--connections", "1"];
        let times = ["--duration", "300ms", "--warm-up", "100ms", "--rounds", "3"];
        run(&[&args[..], &times, &["--output", name]].concat()).expect(0);
    };
    measure("before", &node.address);
    let relay = Relay::tcp(&node.address);
    relay.set(Faults { bytes_per_second: Some(2_500_000), ..Faults::none() });
    measure("after", &relay.address);
    let compare = |other: &str| run(&["compare", "before", other, "--json", "-"]);
    let found = compare("after").expect(1).json();
    let figures = found["figures"].as_array().expect("figures");
    let rate = figures.iter().find(|figure| figure["unit"] == "GB/s").expect("a rate");
    assert_eq!((&rate["spreads"][0]["runs"], &rate["more_is_better"]), (&3.into(), &true.into()));
    assert_eq!(rate["changes"][0]["judgement"], "worse", "{rate}");
    compare("before").expect(0);

    // `report` writes the page of a network measurement again, and has no table of it.
    run(&["report", "before", "--format", "csv"])
        .expect_text(2, "before holds a network measurement");
    let page = folder.read("before/fabric.html");
    fs::remove_file(folder.root().join("before/fabric.html")).expect("the page");
    run(&["report", "before"]).expect_text(0, "before/fabric.html");
    assert_eq!(folder.read("before/fabric.html"), page);

    // With one round each, the noise is unknown, unless a tolerance decides.
    for name in ["before", "after"] {
        let path = format!("{name}/fabric.json");
        let mut report = folder.json(&path);
        for cell in report["bandwidth"].as_array_mut().expect("cells") {
            cell["rounds_bytes_per_second"].as_array_mut().expect("rounds").truncate(1);
        }
        folder.write(&path, report.to_string());
    }
    run(&["compare", "before", "after"])
        .expect_text(0, "NOISE UNKNOWN: ")
        .expect_text(0, "before: 1 measurement\n");
    run(&["compare", "before", "after", "--tolerance", "5%"])
        .expect_text(1, "WORSE: ")
        .expect_text(1, "--tolerance alone decided");
}

#[test]
fn volumes_pass_beside_small_samples_in_bounded_memory() {
    let limits = ["--max-payload-bytes", "240000000", "--max-in-flight-bytes", "256000000"];
    let echo = ["--echo-answer-bytes", "0", "--max-batch", "1"];
    for transport in TRANSPORTS {
        let node = SutNode::echo("a", &[&limits[..], &echo].concat());
        let run = |scenario: &str, samples: &str, qps: u64, milliseconds: u64| {
            let run = LoadGen::new(&[&node.address], scenario).transport(transport);
            run.fabric(samples).short(milliseconds, qps)
        };
        // The response of a text-to-video sample has 225 MB; here the sample is that long.
        let mut long = run("offline", "2x225000000", 6, 2000).start();
        long.wait_for_test();
        // Meanwhile small samples, one at a time.
        let short = run("single-stream", "64x1000", 1000, 100).run();
        assert!(long.is_running(), "{transport}: the long samples ended too soon");
        let slowest = short.result()["loadgen_latency_ns"]["max"].as_u64();
        assert!(slowest < Some(2_000_000_000), "{transport}: {slowest:?} ns");
        let outcome = long.wait();
        let result = outcome.result();
        assert_eq!(result["samples"]["lost"], 0, "{outcome:#?}");
        assert_eq!(result["nodes"][0]["bytes_received"], result["nodes"][0]["bytes_sent"]);
        // One sample is admitted, one is being read, and one is being sent.
        let peak = node.peak_resident_bytes();
        assert!(peak < 1_200_000_000, "{transport}: {peak} bytes");
    }
}

#[test]
fn the_time_is_not_over_before_each_node_answered() {
    let nodes = ["near", "far"].map(|name| SutNode::start(name, &["--engine", "none"]));
    let relay = Relay::tcp(&nodes[1].address);
    // Half a second for a message on this path, and as long for the return path.
    relay.set(Faults { bytes_per_second: Some(200_000), ..Faults::none() });
    let args = ["--soak", "100ms", "--warm-up", "0s", "--sizes", "100000", "--connections", "1"];
    let (_, report) = fabric(&[&nodes[0].address, &relay.address], &args);
    for node in report["soak"]["nodes"].as_array().expect("both nodes") {
        assert!(node["messages_per_second"].as_f64() > Some(0.0), "{node}");
    }
}
