//! The network between all hosts: nodes that measure with each other, and requests that they
//! refuse.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
    time::Duration,
};

use e2e::{
    Folder, SutNode,
    process::{Ended, command},
    relay::{Faults, Relay},
};
use netdiv_contract::v1::{MeasureRequest, MeasureResponse};
use netdiv_transport::{Connection, Transport};
use serde_json::Value;
use tonic::{Code, Status};

use crate::calls::{TRANSPORTS, open, soon};

/// Nodes that may dial the addresses in a file, which is written once all of them listen.
struct Cluster {
    folder: Folder,
    nodes: Vec<SutNode>,
}

impl Cluster {
    fn start(names: &[&str], args: &[&str]) -> Self {
        let folder = Folder::create();
        let peers = format!("@{}", folder.write("peers", "localhost:1\n"));
        let args = [&["--engine", "none", "--fabric-peers", &peers], args].concat();
        let nodes = names.iter().map(|name| SutNode::start(name, &args)).collect();
        let cluster = Self { folder, nodes };
        cluster.allow(&cluster.addresses());
        cluster
    }

    fn allow(&self, addresses: &[&str]) {
        self.folder.write("peers", addresses.join("\n"));
    }

    fn addresses(&self) -> Vec<&str> {
        self.nodes.iter().map(|node| node.address.as_str()).collect()
    }

    fn loadgen_node(&self, args: &[&str]) -> Command {
        let mut command = command("loadgen-node");
        command.args(args).current_dir(self.folder.root());
        command
    }

    /// Measures a matrix. Returns the end of the program, and the report.
    fn matrix(&self, addresses: &[&str], args: &[&str]) -> (Ended, Value) {
        let nodes = addresses.join(",");
        let matrix = ["fabric", "--matrix", "--nodes", &nodes, "--output", "out"];
        let times = ["--sizes", "100000", "--duration", "400ms", "--warm-up", "100ms"];
        let args = [&matrix[..], &times, args].concat();
        let ended = Ended::of(&mut self.loadgen_node(&args));
        if !self.folder.root().join("out/fabric.json").exists() {
            let has_folder = self.folder.root().join("out").exists();
            assert!(!has_folder, "an output folder without a measurement: {}", ended.said());
            return (ended, Value::Null);
        }
        assert!(self.folder.read("out/matrix.svg").starts_with("<svg"));
        (ended, self.folder.json("out/fabric.json"))
    }
}

#[test]
fn each_pair_is_measured_and_a_slow_host_is_named() {
    for transport in TRANSPORTS {
        let cluster = Cluster::start(&["a", "b", "far"], &[]);
        let [a, b, far] = cluster.addresses()[..] else { panic!("three nodes") };
        // 20 Mbit/s from every host to one of three. Data that this one sends takes another path.
        let relay = Relay::start(far, transport == Transport::Quic, 1);
        relay.set(Faults { bytes_per_second: Some(2_500_000), ..Faults::none() });
        let addresses = [a, b, &relay.address];
        cluster.allow(&addresses);
        let over = transport.to_string();
        let args = ["--transport", &over, "--connections", "1", "--rounds", "2"];
        let (ended, report) = cluster.matrix(&addresses, &args);
        ended.expect_text(0, "SLOW receiver far: at best 0.00");
        let matrix = &report["matrix"];
        let pairs = matrix["pairs"].as_array().expect("pairs");
        assert_eq!(pairs.len(), 12, "each of four hosts to each other one: {matrix}");
        for pair in pairs {
            assert_ne!(pair["from"], pair["to"]);
            assert!(pair["bytes_per_second"].as_f64() > Some(0.0), "{pair}");
            assert_eq!(pair["rounds_bytes_per_second"].as_array().map(Vec::len), Some(2));
            assert!(pair["busy"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)));
            // Each message counts, and the relay passes some at once. Only this machine limits the
            // other pairs.
            let is_slow = pair["to"]["node"] == "far"
                || pair["from"]["node"] == "far" && pair["to"] == "here";
            let rate = pair["bytes_per_second"].as_f64().expect("a rate");
            assert!(if is_slow { rate < 6e6 } else { rate > 12e6 }, "{pair}");
        }
        assert_eq!(matrix["failures"], Value::Array(Vec::new()));
        let slow = matrix["slow"].as_array().expect("a list");
        let is_receiver = |slow: &&Value| slow["what"]["receiver"] == "far";
        assert_eq!(slow.iter().filter(is_receiver).count(), 1, "{slow:?}");
        let all_at_once = |key: &str| matrix[key]["nodes"].as_array().map(Vec::len);
        assert_eq!((all_at_once("fan_out"), all_at_once("incast")), (Some(3), Some(3)));
        // A measurement without a matrix has other figures.
        let mut sizes = report.clone();
        sizes["matrix"] = Value::Null;
        cluster.folder.write("sizes/fabric.json", sizes.to_string());
        let want = "out is a network measurement between all pairs of hosts (--matrix), but sizes is a network measurement by message \
                    sizes: compare only";
        Ended::of(&mut cluster.loadgen_node(&["compare", "out", "sizes"])).expect_text(2, want);
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is() {
    let cluster = Cluster::start(&["a", "b"], &[]);
    let [a, b] = cluster.addresses()[..] else { panic!("two nodes") };
    let plain = SutNode::start("plain", &["--engine", "none"]);
    cluster.allow(&[a]);
    for (addresses, args, words) in [
        (vec![a], vec![], "--matrix needs two nodes or more"),
        (vec![a, b], vec!["--soak", "1s"], "--matrix and --soak are different measurements"),
        (vec![a, b], vec![], "may not dial"),
        (vec![a, &plain.address], vec![], "start it with --fabric-peers"),
    ] {
        let (ended, report) = cluster.matrix(&addresses, &args);
        let text = ended.expect_text(2, words).said();
        assert!(!text.contains("this takes about"), "{words}: {text}");
        assert_eq!(report, Value::Null);
    }
}

#[test]
fn what_fails_is_named_and_the_rest_is_measured() {
    let mut cluster = Cluster::start(&["a", "b", "lost"], &[]);
    let mut measuring = cluster
        .loadgen_node(&["fabric", "--matrix", "--nodes", &cluster.addresses().join(",")])
        .args(["--duration", "1s", "--warm-up", "100ms", "--connections", "1", "--rounds", "1"])
        .args(["--sizes", "10000", "--connect-timeout", "1s", "--output", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("loadgen-node starts");
    let mut log = BufReader::new(measuring.stderr.take().expect("its log"));
    let mut text = String::new();
    while !text.contains("measuring with all nodes at once") {
        assert_ne!(log.read_line(&mut text).expect("a line"), 0, "{text}");
    }
    cluster.nodes.pop().expect("lost").signal("-KILL");
    log.read_to_string(&mut text).expect("the rest");
    let output = measuring.wait_with_output().expect("it ends");
    text += &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("NOT MEASURED a to lost") && text.contains("NOT MEASURED lost to"),
        "{text}"
    );
    let report = cluster.folder.json("out/fabric.json");
    let pairs = report["matrix"]["pairs"].as_array().expect("pairs");
    let measured = |from: &str, to: &str| {
        let is = |pair: &&Value| pair["from"]["node"] == from && pair["to"]["node"] == to;
        pairs.iter().find(is).and_then(|pair| pair["bytes_per_second"].as_f64())
    };
    assert!(measured("a", "b") > Some(0.0) && measured("b", "a") > Some(0.0), "{text}");
    assert_eq!(measured("a", "lost"), None, "{text}");
    assert!(text.contains("from one round"), "{text}");
}

async fn ask(node: &Connection, request: &MeasureRequest) -> Result<MeasureResponse, Status> {
    soon(node.measure(request.clone())).await
}

#[tokio::test]
async fn requests_that_a_node_refuses() {
    let cluster = Cluster::start(&["a", "b"], &["--max-payload-bytes", "1000"]);
    let [a, b] = cluster.addresses()[..] else { panic!("two nodes") };
    let unused = "127.0.0.1:1";
    cluster.allow(&[a, b, unused]);
    for transport in TRANSPORTS {
        let node = open(a, transport).await;
        let good = MeasureRequest {
            peer: b.into(),
            quic: transport == Transport::Quic,
            connections: 2,
            message_bytes: 1000,
            warm_up_ns: 0,
            duration_ns: 100_000_000,
        };
        let answer = ask(&node, &good).await.expect("it is measured");
        assert_eq!(answer.peer_name, "b");
        assert!(answer.messages > 0 && answer.window_ns > 0, "{answer:?}");
        for (change, code, words) in [
            (
                &(|r: &mut MeasureRequest| r.connections = 0) as &dyn Fn(&mut MeasureRequest),
                Code::InvalidArgument,
                "from 1 to 64",
            ),
            (&|r| r.connections = u32::MAX, Code::InvalidArgument, "from 1 to 64"),
            (&|r| r.message_bytes = 0, Code::InvalidArgument, "a message has from 1 to"),
            (&|r| r.message_bytes = u64::MAX, Code::InvalidArgument, "a message has from 1 to"),
            (&|r| r.warm_up_ns = u64::MAX, Code::InvalidArgument, "takes at most 3600 s"),
            (&|r| r.duration_ns = u64::MAX, Code::InvalidArgument, "takes at most 3600 s"),
            (&|r| r.peer = String::new(), Code::FailedPrecondition, "may not dial ``"),
            (&|r| r.peer = "\u{1b}[2J".into(), Code::FailedPrecondition, "may not dial"),
            (&|r| r.peer = "example.org:443".into(), Code::FailedPrecondition, "may not dial"),
            (&|r| r.peer = unused.into(), Code::Unavailable, "no node answers at 127.0.0.1:1"),
        ] {
            let mut request = good.clone();
            change(&mut request);
            let status = ask(&node, &request).await.expect_err("it is refused");
            assert_eq!(status.code(), code, "{request:?}: {status}");
            assert!(status.message().contains(words), "{words}: {status}");
            assert!(!status.message().contains('\u{1b}'), "{status}");
        }
        // One measurement at a time; a caller that leaves early does not block others.
        let long = MeasureRequest { duration_ns: 3_000_000_000_000, ..good.clone() };
        let other = open(a, transport).await;
        let abandoned = tokio::time::timeout(Duration::from_millis(500), other.measure(long));
        let refused = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            ask(&node, &good).await.expect_err("another measurement is in progress")
        };
        let (abandoned, refused) = tokio::join!(abandoned, refused);
        assert!(abandoned.is_err());
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
        soon(async {
            while ask(&node, &good).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_node_that_ends_ends_its_measurement() {
    let mut cluster = Cluster::start(&["a", "b"], &[]);
    let peer = cluster.nodes[1].address.clone();
    let node = open(&cluster.nodes[0].address, Transport::Grpc).await;
    let request = MeasureRequest {
        peer,
        connections: 1,
        message_bytes: 1000,
        duration_ns: 3_000_000_000_000,
        ..MeasureRequest::default()
    };
    let call = tokio::spawn(async move { node.measure(request).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    cluster.nodes[0].signal("-TERM");
    let status = soon(call).await.expect("no panic").expect_err("the node ends");
    assert!(status.message().contains("was asked to end (SIGTERM)"), "{status}");
    let (code, log) = cluster.nodes[0].wait();
    assert_eq!(code, Some(0), "{log}");
}
