//! The network between all hosts: nodes that measure with each other, and requests that they
//! refuse.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use e2e::{
    SutNode,
    process::{program, soon},
    relay::{Faults, Relay},
};
use netdiv_contract::v1::{MeasureRequest, MeasureResponse};
use netdiv_transport::{Connection, Options, Transport};
use serde_json::Value;
use tempfile::TempDir;
use tonic::{Code, Status};

const TRANSPORTS: [Transport; 2] = [Transport::Grpc, Transport::Quic];

/// Nodes that may dial the addresses in a file, which is written once all of them listen.
struct Cluster {
    folder: TempDir,
    nodes: Vec<SutNode>,
}

impl Cluster {
    fn start(names: &[&str], args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("peers");
        fs::write(&file, "localhost:1\n").expect("a file");
        let peers = format!("@{}", file.display());
        let args = [&["--engine", "none", "--fabric-peers", &peers], args].concat();
        let nodes = names.iter().map(|name| SutNode::start(name, &args)).collect();
        let cluster = Self { folder, nodes };
        cluster.allow(&cluster.addresses());
        cluster
    }

    fn allow(&self, addresses: &[&str]) {
        fs::write(self.folder.path().join("peers"), addresses.join("\n")).expect("a file");
    }

    fn addresses(&self) -> Vec<&str> {
        self.nodes.iter().map(|node| node.address.as_str()).collect()
    }

    /// Measures a matrix. Returns the exit code, both outputs as one text, and the report.
    fn matrix(&self, addresses: &[&str], args: &[&str]) -> (Option<i32>, String, Value) {
        let output = Command::new(program("loadgen-node"))
            .args(["fabric", "--matrix", "--nodes", &addresses.join(","), "--output", "out"])
            .args(["--sizes", "100000", "--duration", "400ms", "--warm-up", "100ms"])
            .args(args)
            .current_dir(self.folder.path())
            .output()
            .expect("loadgen-node starts");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let read =
            |name: &str| fs::read_to_string(Path::new(self.folder.path()).join("out").join(name));
        let report = match read("fabric.json") {
            Ok(json) => {
                assert!(read("matrix.svg").is_ok_and(|svg| svg.starts_with("<svg")));
                serde_json::from_str(&json).expect("JSON")
            }
            Err(_) => {
                assert!(
                    !self.folder.path().join("out").exists(),
                    "an output folder without a measurement: {text}"
                );
                Value::Null
            }
        };
        (output.status.code(), text, report)
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
        let (code, text, report) = cluster.matrix(&addresses, &args);
        assert_eq!(code, Some(0), "{text}");
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
        assert!(text.contains("SLOW receiver far: at best 0.00"), "{text}");
        let all_at_once = |key: &str| matrix[key]["nodes"].as_array().map(Vec::len);
        assert_eq!((all_at_once("fan_out"), all_at_once("incast")), (Some(3), Some(3)));
        // A measurement without a matrix has other figures.
        let mut sizes = report.clone();
        sizes["matrix"] = Value::Null;
        fs::create_dir(cluster.folder.path().join("sizes")).expect("a writable folder");
        fs::write(cluster.folder.path().join("sizes/fabric.json"), sizes.to_string())
            .expect("a writable folder");
        let output = Command::new(program("loadgen-node"))
            .args(["compare", "out", "sizes"])
            .current_dir(cluster.folder.path())
            .output()
            .expect("loadgen-node starts");
        let text = String::from_utf8_lossy(&output.stderr);
        let want = "out is a network measurement between all pairs of hosts (--matrix), but sizes is a network measurement by message \
                    sizes: compare only";
        assert!(output.status.code() == Some(2) && text.contains(want), "{text}");
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
        let (code, text, report) = cluster.matrix(&addresses, &args);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(words) && !text.contains("this takes about"), "{words}: {text}");
        assert_eq!(report, Value::Null);
    }
}

#[test]
fn what_fails_is_named_and_the_rest_is_measured() {
    let mut cluster = Cluster::start(&["a", "b", "lost"], &[]);
    let mut measuring = Command::new(program("loadgen-node"))
        .args(["fabric", "--matrix", "--nodes", &cluster.addresses().join(",")])
        .args(["--duration", "1s", "--warm-up", "100ms", "--connections", "1", "--rounds", "1"])
        .args(["--sizes", "10000", "--connect-timeout", "1s", "--output", "out"])
        .current_dir(cluster.folder.path())
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
    let report =
        fs::read_to_string(cluster.folder.path().join("out/fabric.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let pairs = report["matrix"]["pairs"].as_array().expect("pairs");
    let measured = |from: &str, to: &str| {
        let is = |pair: &&Value| pair["from"]["node"] == from && pair["to"]["node"] == to;
        pairs.iter().find(is).and_then(|pair| pair["bytes_per_second"].as_f64())
    };
    assert!(measured("a", "b") > Some(0.0) && measured("b", "a") > Some(0.0), "{text}");
    assert_eq!(measured("a", "lost"), None, "{text}");
    assert!(text.contains("from one round"), "{text}");
}

async fn open(address: &str, transport: Transport) -> Connection {
    let options = Options { transport, ..Options::default() };
    Connection::open(address, &options).await.expect("connects")
}

async fn ask(node: &Connection, request: &MeasureRequest) -> Result<MeasureResponse, Status> {
    soon(node.measure(request.clone())).await
}

#[tokio::test]
async fn requests_that_a_node_refuses() {
    let cluster = Cluster::start(&["a", "b"], &["--max-payload-bytes", "1000"]);
    let model = SutNode::start("model", &[]);
    let [a, b] = cluster.addresses()[..] else { panic!("two nodes") };
    let unused = "127.0.0.1:1";
    cluster.allow(&[a, b, &model.address, unused]);
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
            (&|r| r.message_bytes = 1001, Code::FailedPrecondition, "raise --max-payload-bytes"),
            (&|r| r.warm_up_ns = u64::MAX, Code::InvalidArgument, "takes at most 3600 s"),
            (&|r| r.duration_ns = u64::MAX, Code::InvalidArgument, "takes at most 3600 s"),
            (&|r| r.peer = String::new(), Code::FailedPrecondition, "may not dial ``"),
            (&|r| r.peer = "\u{1b}[2J".into(), Code::FailedPrecondition, "may not dial"),
            (&|r| r.peer = "example.org:443".into(), Code::FailedPrecondition, "may not dial"),
            (&|r| r.peer = unused.into(), Code::Unavailable, "no node answers at 127.0.0.1:1"),
            (
                &|r| r.peer = model.address.clone(),
                Code::FailedPrecondition,
                "start it with --engine none",
            ),
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
