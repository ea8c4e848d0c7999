//! N28: a description of the system's architecture (rules, section 5.1).

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::Value;

use crate::{
    facts::{
        interfaces,
        rate::{format_interface_speed, format_rate, states_a_rate},
    },
    input::{files, json},
    record::Evidence,
    subject::{Findings, Subject, SubmissionTree},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "switches, diagram and architecture";
    let Some(tree) = found.own_tree(subject, text) else { return };
    let Some(text) = tree.document(documents::ARCHITECTURE) else { return };
    let mut at = found.at(tree.home.document(documents::ARCHITECTURE));
    if !text.lines().any(states_a_rate) {
        at.fail("states no bandwidth, such as `100 Gb/s`");
    }
    for (place, text) in report_differences(subject, tree, &text) {
        at.fail_at(place, text);
    }
    at.or_pass("it states a bandwidth, and the measured ones are of this network");
}

/// Factor by which a measured rate may exceed the capacity, because clocks and counters differ
/// slightly.
const TOLERANCE: f64 = 1.02;

/// Compares the reports of `loadgen-node fabric` that the architecture document names with the
/// machines' evidence.
/// Returns each difference as the path of the report and a text.
fn report_differences(
    subject: &Subject,
    tree: &SubmissionTree,
    architecture: &str,
) -> Vec<(String, String)> {
    let evidence = subject.records().filter_map(|(_, record)| record.evidence.as_ref());
    let evidence: Vec<_> =
        evidence.filter(|evidence| !evidence.loadgen_node.routes.is_empty()).collect();
    let folder = tree.home.document("evidence");
    let reports = files::entries(&tree.path(&folder)).unwrap_or_default();
    let named =
        reports.iter().filter(|(name, _)| architecture.contains(&format!("evidence/{name}")));
    let of_report = |(name, path): &(String, PathBuf)| {
        let report = files::read(path).ok()?;
        let texts = differences(&json::from_slice(&report).ok()?, &evidence);
        let place = format!("{folder}/{name}");
        Some(texts.into_iter().map(move |text| (place.clone(), text)))
    };
    named.filter_map(of_report).flatten().collect()
}

/// Returns the differences between a report and the run whose evidence is most similar.
fn differences(report: &Value, evidence: &[&Evidence]) -> BTreeSet<String> {
    let all = evidence.iter().map(|evidence| {
        interfaces(report, evidence).chain(rates(report, evidence)).collect::<BTreeSet<_>>()
    });
    all.min_by_key(BTreeSet::len).unwrap_or_default()
}

fn list<'a>(json: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    json.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Returns findings about interfaces in a report that the LoadGen node does not have, or that have
/// another speed.
fn interfaces<'a>(report: &'a Value, evidence: &'a Evidence) -> impl Iterator<Item = String> {
    list(report, "routes").filter_map(|route| {
        let link = route.get("link")?;
        let name = link.get("interface")?.as_str()?;
        let speed = link.get("speed_mbit_per_second")?.as_u64()?;
        match interfaces::find(&evidence.loadgen_node, name) {
            None => Some(format!("was measured over {name}, which the LoadGen node does not have: measure this network")),
            // The speed of a radio changes.
            Some(interface) if interface.kind == "wifi" => None,
            Some(interface) => interface.speed_mbit_per_second.filter(|known| *known != speed).map(|known| {
                let (speed, known) = (format_interface_speed(speed), format_interface_speed(known));
                format!("states {speed} for {name}, which has {known}: measure this network")
            }),
        }
    })
}

/// Returns findings about rates in a report that exceed the capacity of the LoadGen node's
/// interfaces.
fn rates<'a>(report: &'a Value, evidence: &'a Evidence) -> impl Iterator<Item = String> {
    let carriers = interfaces::carriers(&evidence.loadgen_node).used;
    let capacity = interfaces::bits_per_second(&evidence.loadgen_node);
    let capacity = capacity.filter(|_| carriers.iter().all(|one| one.kind != "wifi"));
    let capacity = capacity.unwrap_or(f64::INFINITY);
    list(report, "bandwidth").filter_map(move |one| {
        let total = one.get("total")?;
        let rate = |key: &str| total.get(key).and_then(Value::as_f64).unwrap_or_default() * 8.0;
        let most = rate("bytes_per_second_to_nodes").max(rate("bytes_per_second_from_nodes"));
        (most > capacity * TOLERANCE).then(|| {
            let (most, capacity) = (format_rate(most), format_rate(capacity));
            format!("states that interfaces of {capacity} carried {most}: measure this network")
        })
    })
}

#[cfg(test)]
mod tests {
    use netdiv_contract::v1::{Interface, Machine};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_like_some_run() {
        let with = |speed| {
            let speed_mbit_per_second = Some(speed);
            let eth0 =
                Interface { name: "eth0".into(), speed_mbit_per_second, ..Default::default() };
            let loadgen_node = Machine { interfaces: vec![eth0], ..Default::default() };
            Evidence { loadgen_node, ..Default::default() }
        };
        let (slow, fast) = (with(10_000), with(100_000));
        let report =
            json!({"routes": [{"link": {"interface": "eth0", "speed_mbit_per_second": 100_000}}]});
        assert_eq!(differences(&report, &[&fast, &slow]).len(), 0);
        assert_eq!(differences(&report, &[&slow, &slow]).len(), 1);
        assert_eq!(differences(&report, &[]).len(), 0);
    }
}
