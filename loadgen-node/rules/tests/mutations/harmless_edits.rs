//! Edits that a check must accept.

use netdiv_node_common::words::{Mode, Scenario, Transport};
use netdiv_rules::record::Carrier;
use std::fs;

use netdiv_contract::v1::Interface;
use serde_json::json;

use super::{
    broken,
    fixture::files::publish_settings,
    report,
    tree::{EditableTree, HOME, SETTINGS, SYSTEM},
};
use netdiv_rules::{Outcome, Rule, testing::sha256_of, tree::ACCURACY_LOG};

/// Sets the engine of all nodes, and appends `settings` to their settings.
fn engines(tree: &EditableTree, engine: &str, settings: &str) {
    tree.every_record(|record| {
        for node in &mut record.nodes {
            node.engine = engine.into();
            let nodes = &mut record.evidence.as_mut().unwrap().nodes;
            *nodes.get_mut(&node.name).unwrap().settings.as_mut().unwrap() += settings;
        }
        publish_settings(record);
    });
}

/// Sets the engine of all nodes to `plugin:torch`, and appends keys of the model to their settings.
fn model(tree: &EditableTree, keys: &str) {
    engines(tree, "plugin:torch", &format!("vocabulary = 32000\n{keys}\n"));
}

/// Edits the accuracy log of TEST06, and its hash in the record.
fn responses(tree: &EditableTree, change: impl FnOnce(String) -> String) {
    let path = "network/acme/compliance/two-H100-nodes/llama2-70b-99/Server/TEST06/accuracy/mlperf_log_accuracy.json";
    let log = change(tree.read(path));
    tree.write(path, &log);
    tree.record("Server/TEST06", |record| {
        record.logs.insert(ACCURACY_LOG.into(), sha256_of(&log));
    });
}

/// Removes responses of TEST06, which are then fewer than its audit.config requires.
fn fewer_responses(tree: &EditableTree) {
    responses(tree, |log| {
        let entries: Vec<_> = log.split(",\n").collect();
        format!("{}\n]\n", entries[..99].join(",\n"))
    });
}

fn outcome(tree: &EditableTree, rule: Rule) -> Outcome {
    report(tree).outcome(rule)
}

#[test]
fn edits_of_files_that_break_nothing() {
    for edit in super::edits(include_str!("harmless/edits.toml")) {
        let report = report(&edit.made());
        assert!(!report.failed(), "{}: {}", edit.name, report.text());
        for rule in edit.cannot_tell {
            let told = report.outcome(rule);
            assert_eq!(told, Outcome::CannotTell, "{}: {}", edit.name, report.text());
        }
    }
}

#[test]
fn a_serving_engine_that_computes_every_prompt() {
    let tree = EditableTree::new();
    engines(&tree, "openai", "[found]\nprefix_caching = \"off\"\n");
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
}

#[test]
fn a_model_that_ends_its_outputs_as_the_benchmark_does() {
    let tree = EditableTree::of_llama();
    model(&tree, "max_tokens = 1024\nmin_tokens = 2\neos = [2]");
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
}

#[test]
fn nodes_that_share_a_machine() {
    let tree = EditableTree::new();
    tree.every_record(|record| {
        let nodes = &mut record.evidence.as_mut().unwrap().nodes;
        let one = nodes["node-a"].clone();
        nodes.get_mut("node-b").unwrap().machine_id = one.machine_id;
        nodes.get_mut("node-b").unwrap().boot_id = one.boot_id;
    });
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
    for rule in [Rule::N15, Rule::N20] {
        let of_rule = report.findings().filter(|f| f.rule == rule);
        let said = of_rule.filter(|f| f.text.contains("node-a and node-b are on one machine"));
        assert_eq!(said.count(), 1, "{rule}");
    }
    tree.field("number_of_nodes", json!("3"));
    assert_eq!(outcome(&tree, Rule::N15), Outcome::Fail);
}

#[test]
fn a_transport_for_each_scenario() {
    let tree = EditableTree::new();
    tree.every_record(|record| {
        if record.scenario == Scenario::Server {
            record.transport = Carrier::Network(Transport::Quic);
            record.settings.insert("transport".into(), json!("quic"));
            publish_settings(record);
        }
    });
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
    let both = "gRPC over HTTP/2 over TLS 1.3 over TCP over IPv4 / netdiv frames over QUIC (TLS 1.3) over UDP over IPv4";
    assert!(tree.read(SYSTEM).contains(both));
}

#[test]
fn a_bond_that_carries_more_than_one_adapter() {
    let tree = EditableTree::new();
    tree.every_record(|record| {
        let machine = &mut record.evidence.as_mut().unwrap().loadgen_node;
        let one = machine.interfaces[0].clone();
        let other = Interface { name: "ens1f1np1".into(), ..one.clone() };
        let over = vec![one.name.clone(), other.name.clone()];
        let bond = Interface { name: "bond0".into(), over, ..one };
        let bond = Interface { speed_mbit_per_second: Some(200_000), ..bond };
        machine.interfaces.extend([other, bond]);
        for route in &mut machine.routes {
            route.interface = Some("bond0".into());
        }
        record.interfaces[0].name = "bond0".into();
        if record.scenario == Scenario::Offline && record.mode == Mode::Performance {
            record.interfaces[0].bytes_sent = (150e9 / 8.0 * record.test_seconds) as u64;
        }
    });
    assert_eq!(outcome(&tree, Rule::N6), Outcome::Pass, "{}", report(&tree).text());
}

/// Judges each of two systems by its own runs.
#[test]
fn another_fabric_of_another_system() {
    let tree = EditableTree::new();
    let (one, other) = ("two-H100-nodes", "other");
    for file in netdiv_rules::tree::list_files(tree.root()).unwrap() {
        let path = file.to_str().unwrap();
        if !path.contains(one) {
            continue;
        }
        let text = tree.read(path);
        let text = match path.ends_with(".result.json") {
            true => text.replace("\"ethernet\"", "\"infiniband\"").replace("ens1f0np0", "ib0"),
            false => text,
        };
        tree.write(&path.replace(one, other), &text);
    }
    let system = SYSTEM.replace(one, other);
    tree.replace(&system, "\"network_type\": \"Ethernet\"", "\"network_type\": \"InfiniBand\"");
    assert!(fs::exists(tree.path(&format!("{HOME}/results/{other}"))).unwrap());
    tree.replace(&system, "ens1f0np0", "ib0");
    assert_eq!(outcome(&tree, Rule::N5), Outcome::Pass, "{}", report(&tree).text());
    let is_linked = |text: &str| !text.contains("network_topology has no link for it");
    assert!(report(&tree).findings().all(|finding| is_linked(&finding.text)));
    // A run cannot belong to two systems.
    let broken = broken(&report(&tree));
    assert!(broken.contains("N34") && broken.contains("N35"), "{broken:?}");
}

#[test]
fn queries_put_together_are_said() {
    let tree = EditableTree::new();
    for run in ["performance", "TEST01", "TEST04"].map(|run| format!("Server/{run}")) {
        tree.entry(&run, "requested_server_coalesce_queries", "true", "");
        tree.record(&run, |record| {
            record.test_settings.insert("server_coalesce_queries".into(), "true".into());
        });
    }
    let conf = format!("{HOME}/measurements/two-H100-nodes/resnet50/Server/user.conf");
    tree.write(&conf, &(tree.read(&conf) + "*.Server.coalesce_queries = 1\n"));
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
    let mut of_settings = report.findings().filter(|finding| finding.rule == Rule::N32);
    assert!(of_settings.any(|finding| finding.text.contains("server_coalesce_queries: it is on")));
}

/// Accepts fewer responses, because the official script prints `True` for such a log; published
/// logs have 87 to 108 responses.
#[test]
fn fewer_responses_of_test06_are_only_said() {
    let tree = EditableTree::of_llama();
    fewer_responses(&tree);
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
    let text = "99 responses were logged; the test requires 100: netdiv requires this, the official script does not";
    assert!(report.text().contains(text), "{}", report.text());
}

#[test]
fn each_division_and_submitter_has_its_judgement() {
    let tree = EditableTree::new();
    tree.write("closed/other/x.md", "x");
    let report = report(&tree);
    let subjects: Vec<_> = report.judgements.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(subjects, ["closed/other", HOME]);
    assert!(report.judgements[0].failed() && !report.judgements[1].failed(), "{}", report.text());
    for heading in ["Closed division, in closed/other (", "Network division, in network/acme ("] {
        assert!(report.text().contains(heading), "{}", report.text());
    }
}

/// Accepts different machines and their settings.
#[test]
fn nodes_of_different_machines() {
    let tree = EditableTree::new();
    tree.every_record(|record| {
        let machines = record.evidence.as_mut().unwrap().nodes.values_mut();
        for (number, machine) in machines.enumerate() {
            machine.framework = Some(format!("libtorch 2.11.0 (for GPU {number})"));
            machine.settings = Some(format!(
                "max_batch = {}\n[engine]\nplug_in = \"torch\"\ndevices = [\"cuda:{number}\"]\n\
                 [engine.model]\nname = \"resnet50\"\nprecision = \"fp16\"\n",
                32 + 16 * number
            ));
        }
        publish_settings(record);
    });
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
}

/// Accepts another precision for another scenario, which the settings state.
#[test]
fn other_weights_in_a_scenario() {
    let tree = EditableTree::new();
    tree.every_record(|record| {
        if record.scenario == Scenario::Server {
            for node in &mut record.nodes {
                node.model_sha256 = "0".repeat(64);
            }
        }
    });
    let text = tree.read(SETTINGS);
    let (offline, server) = text.split_at(text.rfind("fp16 conversion").unwrap());
    let server = server.replace("fp16 conversion", "fp8 conversion");
    tree.write(SETTINGS, &format!("{offline}{server}"));
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
}
