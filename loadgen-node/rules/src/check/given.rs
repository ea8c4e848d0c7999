//! A record says of a run what its settings, as they were given, made of it: of N4 the nodes, of N6 the connections, of N25 the
//! encoding, of N32 the test, of N35 the benchmark, of N20 the rest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{self, N4, N6, N20, N25, N32, N35},
    facts::machines::ip,
    judge::user_conf::number,
    result::{Carrier, Mode, Node, RunResult, Transport},
};

/// LoadGen names numbers with six decimals.
const DIGITS: f64 = 1e-5;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        for (rule, text) in differences(record) {
            let text = format!("{text}: take the record as the run wrote it");
            found.fail(rule, &run.record_place, text);
        }
    }
}

/// What the record has, and what was given: a value, or the default.
fn differences(record: &RunResult) -> Vec<(Rule, String)> {
    // A record without settings is judged with those of the machines.
    if record.settings.is_empty() || matches!(record.transport, Carrier::Process(_)) {
        return Vec::new();
    }
    let given = |key: &str| record.settings.get(key);
    let mut wrong = Vec::new();
    let mut same = |rule: Rule, key: &str, default: Option<Value>, recorded: Value| {
        let Some(wanted) = given(key).cloned().or(default) else { return };
        if wanted != recorded {
            let text = format!("the run was given {key} {wanted}, and the record has {recorded}");
            wrong.push((rule, text));
        }
    };
    same(N32, "scenario", None, json!(record.scenario));
    same(N32, "mode", Some(json!(Mode::default())), json!(record.mode));
    same(N35, "benchmark", None, json!(record.benchmark));
    same(N25, "encoding", Some(json!("none")), json!(record.encoding));
    same(N20, "checksums", Some(json!(false)), json!(record.checksums));
    same(N6, "transport", Some(json!(Transport::default())), json!(record.transport));
    same(N6, "connections", Some(json!(1)), json!(record.connections_per_node));
    same(N6, "streams", Some(json!(1)), json!(record.streams_per_connection));
    let addresses: BTreeSet<_> = record.nodes.iter().map(|node| node.address.as_str()).collect();
    let nodes = given("nodes").and_then(Value::as_array);
    for address in nodes.into_iter().flatten().filter_map(Value::as_str) {
        if !addresses.contains(address.trim()) {
            let text =
                format!("the run was given the node {address}, and the record has none there");
            wrong.push((N4, text));
        }
    }
    let is_grpc = record.transport == Carrier::Network(Transport::Grpc);
    if is_grpc && given("tls_ca").is_some() != record.tls {
        let text = "the run's tls_ca and the record's tls do not say the same";
        wrong.push((N6, text.into()));
    }
    if record.digests.is_some() && given("digests") != Some(&json!(true)) {
        wrong.push((N20, "the record has digests, and the run was not given digests".into()));
    }
    wrong.extend(without_route(record).map(|text| (N4, text)));
    wrong.extend(other_fields(record).map(|text| (N32, text)));
    wrong
}

/// Nodes to which no route of the LoadGen node's leads, where its evidence has any.
fn without_route(record: &RunResult) -> impl Iterator<Item = String> {
    let routes = record.evidence.as_ref().map_or(&[][..], |all| &all.loadgen_node.routes);
    let is_its = |address: &str, peer: &str| {
        peer == address || ip(peer).is_some_and(|peer| ip(address) == Some(peer))
    };
    let is_reached =
        move |node: &&Node| routes.iter().any(|route| is_its(&node.address, &route.peer));
    let nodes = record.nodes.iter().filter(move |node| !routes.is_empty() && !is_reached(node));
    nodes.map(|Node { name, address, .. }| {
        format!(
            "node {name} was at {address}, and no route in the LoadGen node's evidence leads there"
        )
    })
}

/// LoadGen's settings that were set by hand, the last of each field.
fn other_fields(record: &RunResult) -> impl Iterator<Item = String> {
    let samples = record.settings.get("performance_samples");
    let samples = samples.map(|n| ("performance_sample_count_override".to_owned(), n.to_string()));
    let given = record.settings.get("setting").and_then(Value::as_array).into_iter().flatten();
    let given = given.filter_map(|pair| pair.as_str()?.split_once('='));
    let given = given.map(|(field, value)| (field.to_owned(), value.to_owned()));
    let wanted: BTreeMap<_, _> = samples.into_iter().chain(given).collect();
    wanted.into_iter().filter_map(|(field, value)| {
        let said = record.test_settings.get(&field)?;
        let is_same = said == &value
            || number(said)
                .zip(number(&value))
                .is_some_and(|(said, given)| (said - given).abs() <= given.abs() * DIGITS);
        (!is_same)
            .then(|| format!("the run was given {field} {value}, and test_settings has {said}"))
    })
}
