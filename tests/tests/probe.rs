//! `loadgen-node probe`: one sample to every node, and its response.

use bytes::Bytes;
use e2e::{
    Behaviour, FakeNode, Folder, SutNode,
    fake_node::{Reply, answer},
    ports::CLOSED,
    process::{loadgen_node, transport},
};
use netdiv_contract::v1::{Decoding, InferResponse, Status};
use serde_json::Value;

const TIMEOUT: [&str; 2] = ["--sample-timeout", "500ms"];

/// Runs a probe. Returns the exit code, the findings, and standard error.
fn probe(nodes: &[&str], args: &[&str]) -> (Option<i32>, Value, String) {
    let nodes = nodes.join(",");
    let probe = ["probe", "--nodes", &nodes, "--transport", transport(), "--json", "-"];
    let ended = loadgen_node(&[&probe[..], &["--connect-timeout", "500ms"], args].concat());
    let findings = serde_json::from_str(&ended.stdout).unwrap_or(Value::Null);
    (ended.code, findings, ended.stderr)
}

/// Returns ids and severities of the findings that are not notes.
fn found(report: &Value) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().expect("text").to_owned();
    let findings = report["findings"].as_array().expect("a list").iter();
    let found = findings.map(|finding| (text(finding, "id"), text(finding, "severity")));
    found.filter(|(id, severity)| severity != "note" && id != "version-differs").collect()
}

/// Probes two good nodes without a model, and one with other replies, which is found. Returns what
/// the probe reports of it.
fn with_one(reply: Reply) -> Value {
    let [a, b] = ["a", "b"].map(|name| FakeNode::start(Behaviour::good(name)));
    let odd = FakeNode::start(Behaviour { reply, ..Behaviour::good("odd") });
    let nodes = [a.address.as_str(), &odd.address, &b.address];
    let (code, findings, stderr) =
        probe(&nodes, &[&["--dataset", "synthetic:2x16"], &TIMEOUT[..]].concat());
    assert_eq!(code, Some(1), "{stderr}{findings:#}");
    for good in [0, 2] {
        let node = &findings["nodes"][good];
        assert_eq!((&node["failure"], &node["differs"]), (&Value::Null, &false.into()), "{stderr}");
        assert_eq!(node["answers"].as_array().map(Vec::len), Some(2), "{node}");
    }
    assert!(found(&findings).len() == 1 && found(&findings)[0].1 == "problem", "{findings:#}");
    findings["nodes"][1].clone()
}

#[test]
fn every_node_answers_one_real_sample() {
    let nodes = ["a", "b"].map(|name| SutNode::start(name, &[]));
    let addresses = [nodes[0].address.as_str(), &nodes[1].address];
    let (code, findings, stderr) = probe(&addresses, &["--dataset", "digits"]);
    assert_eq!((code, found(&findings)), (Some(0), vec![]), "{stderr}{findings:#}");
    assert_eq!(findings["sample"]["bytes"], 64, "{findings:#}");
    for (node, name) in findings["nodes"].as_array().expect("nodes").iter().zip(["a", "b"]) {
        assert_eq!((&node["node"], &node["engine"]), (&name.into(), &"onnx".into()));
        for answer in node["answers"].as_array().expect("answers") {
            assert!(answer["latency_ns"].as_u64() > Some(0), "{answer}");
            assert_eq!((&answer["bytes"], &answer["first_token_ns"]), (&4.into(), &Value::Null));
            assert!(answer["beginning"].as_str().is_some_and(|text| text.starts_with("label ")));
        }
    }
    // The settings of a run suffice, and the table agrees.
    let folder = Folder::create();
    let text = format!(
        "nodes = {addresses:?}\nscenario = \"server\"\nbenchmark = \"digits\"\ntransport = \"{}\"\n",
        transport()
    );
    let config = folder.write("run.toml", text);
    let args = ["probe", "--config", &config, "--json", &folder.path("probe.json")];
    let table = loadgen_node(&args).expect_text(0, "all 2 nodes answer alike").stdout;
    for text in [", twice to each node: 64 bytes", "1st, µs  2nd, µs"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let written = folder.json("probe.json");
    let answer = &findings["nodes"][0]["answers"][0];
    assert_eq!(written["nodes"][1]["answers"][0]["sha256"], answer["sha256"]);
    assert!(table.contains(answer["beginning"].as_str().expect("a text")), "{table}");
}

#[test]
fn an_answer_of_tokens_has_a_first_one() {
    let node =
        SutNode::start("a", &["--engine", "decoder", "--model", "sorting", "--threads", "1"]);
    let (code, findings, stderr) = probe(&[&node.address], &["--dataset", "sorting"]);
    assert_eq!(code, Some(0), "{stderr}");
    for answer in findings["nodes"][0]["answers"].as_array().expect("answers") {
        let (first, all) = (answer["first_token_ns"].as_u64(), answer["latency_ns"].as_u64());
        assert!(first > Some(0) && first < all, "{answer}");
        assert!(answer["beginning"].as_str().is_some_and(|text| text.starts_with("tokens ")));
    }
}

#[test]
fn a_node_that_answers_wrongly_is_named() {
    let odd = with_one(|_, request| {
        let payload = Bytes::from_static(b"nonsense");
        vec![InferResponse { payload, ..answer(&request) }]
    });
    assert_eq!(odd["differs"], true, "{odd:#}");
    let odd = with_one(|before, request| {
        let payload = Bytes::from(vec![before as u8; 8]);
        vec![InferResponse { payload, ..answer(&request) }]
    });
    let failure = odd["failure"].as_str().unwrap_or_default();
    assert!(failure.contains("another response to the same sample"), "{odd:#}");
    assert_eq!(odd["lost"], false, "{odd:#}");
    let odd = with_one(|_, request| {
        let (status, error) = (Status::EngineFailed as i32, "out of memory".into());
        vec![InferResponse { status, error, ..answer(&request) }]
    });
    assert!(odd["failure"].as_str().is_some_and(|why| why.contains("out of memory")), "{odd:#}");
}

#[test]
fn sampled_outputs_are_not_compared_and_their_nodes_are_named() {
    let node = |name: &str| {
        let reply: Reply = |before, request| {
            let payload = Bytes::from(vec![before as u8; 8]);
            vec![InferResponse { payload, ..answer(&request) }]
        };
        let mut behaviour = Behaviour { reply, ..Behaviour::good(name) };
        behaviour.description.decoding = Decoding::Sampled as i32;
        FakeNode::start(behaviour)
    };
    let nodes = ["a", "b"].map(node);
    let addresses = [nodes[0].address.as_str(), &nodes[1].address];
    let (_, findings, stderr) = probe(&addresses, &["--dataset", "synthetic:2x16"]);
    assert!(found(&findings).is_empty(), "{stderr}{findings:#}");
    let unknown = findings["not_known"].to_string();
    for name in ["agreement of node a at", "agreement of node b at"] {
        assert!(unknown.contains(name), "{unknown}");
    }
    for (tokens, seed, is_found) in [(17, None, true), (17, Some(7), false), (16, None, false)] {
        let reply: Reply = match tokens {
            17 => {
                |_, request| vec![InferResponse { payload: vec![7; 68].into(), ..answer(&request) }]
            }
            _ => {
                |_, request| vec![InferResponse { payload: vec![7; 64].into(), ..answer(&request) }]
            }
        };
        let mut greedy = Behaviour { reply, ..Behaviour::good("greedy") };
        greedy.description.decoding = Decoding::Sampled as i32;
        greedy.description.sampling_seed = seed;
        let node = FakeNode::start(greedy);
        let (_, findings, stderr) = probe(&[&node.address], &["--dataset", "synthetic:2x16"]);
        let failure = findings["nodes"][0]["failure"].as_str().unwrap_or_default();
        let is_named = failure.contains("the engine does not sample; check its temperature");
        assert_eq!(is_named, is_found, "{stderr}{findings:#}");
    }
}

#[test]
fn a_node_that_hangs_or_is_gone_is_lost() {
    let odd = with_one(|_, _| Vec::new());
    assert_eq!(odd["lost"], true, "{odd:#}");
    assert!(odd["failure"].as_str().is_some_and(|why| why.contains("has not answered any")));
    let node = SutNode::echo("a", &[]);
    let nodes = [CLOSED.to_owned(), node.address.clone()];
    let nodes = nodes.each_ref().map(String::as_str);
    let (code, findings, _) = probe(&nodes, &["--dataset", "synthetic:2x16"]);
    assert_eq!(code, Some(1), "{findings:#}");
    assert_eq!(found(&findings), [("node-unusable".to_owned(), "problem".to_owned())]);
    let [gone, there] = [0, 1].map(|node| &findings["nodes"][node]);
    assert_eq!((&gone["lost"], &gone["address"]), (&true.into(), &nodes[0].into()));
    assert_eq!((&there["failure"], &there["differs"]), (&Value::Null, &false.into()));
}

#[test]
fn what_does_not_fit_is_said() {
    let node = SutNode::start("a", &[]);
    let (code, findings, _) = probe(&[&node.address], &["--dataset", "synthetic:2x16"]);
    let failure = findings["nodes"][0]["failure"].as_str().unwrap_or_default();
    assert!(failure.contains("sample 0 has 16 bytes, but the nodes take"), "{findings:#}");
    assert_eq!(code, Some(1));
    for (args, words) in [
        (&[][..], "no data set to take a sample from; give --dataset PATH"),
        (&["--dataset", "/nowhere.npy"], "data set: "),
        (&["--dataset", "digits", "--in-process", "node.toml"], "leave --in-process out"),
        (&["--dataset", "digits", "--nodes-expected", "2"], "--nodes-expected is 2"),
    ] {
        let (code, _, stderr) = probe(&[&node.address], args);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
}
