//! N37: the networking equals another submission's, so that an audit of one covers both (rules,
//! section 2.8).

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::v1::Machine;

use crate::{
    book::system_fields::network_fields,
    facts::{count_texts, interfaces},
    record::RunResult,
    subject::{Findings, Subject, topology},
};

/// Field with the names of machines, which may differ in the other submission.
const TOPOLOGY: &str = "network_topology";

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let mut at = found.at("");
    let Some(others) = subject.against.as_deref() else {
        return at.unknown("no other submission to compare with: name one with --against");
    };
    if others.iter().any(|other| other.tree.is_some() != subject.tree.is_some()) {
        return at.unknown(
            "a run contains less than a submission: compare a submission with a submission, a run with a run",
        );
    }
    let (ours, theirs) =
        (networking_properties(std::slice::from_ref(subject)), networking_properties(others));
    if ours.is_empty() || theirs.is_empty() {
        return at
            .unknown("one of the two does not describe its networking: its runs have no evidence");
    }
    for key in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let [one, other] =
            [&ours, &theirs].map(|all| all.get(key).map_or("nothing", String::as_str));
        if one != other {
            at.fail(format!("{key} is {one} here and {other} there"));
        }
    }
    at.or_pass("the networking is the same");
}

/// Describes the switches and cables of a topology without the names of devices and ports, which
/// may differ in the other submission. Returns the text itself if it is not a list of links.
fn cabling(subject: &Subject, text: &str) -> String {
    let Some(links) = topology::links(text) else { return text.to_owned() };
    let switches = topology::switches(subject, &links).len();
    let cables = count_texts(links.iter().map(|link| &link.text));
    format!("{switches} switches, {}", cables.join(", "))
}

/// Returns the properties of the networking, by the key under which they are compared.
fn networking_properties(subjects: &[Subject]) -> BTreeMap<&'static str, String> {
    let mut all: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    let mut add = |key, value: String| {
        all.entry(key).or_default().insert(value);
    };
    for subject in subjects {
        for (key, value) in subject.records().flat_map(|(_, record)| run_properties(record)) {
            add(key, value);
        }
        for system in &subject.systems {
            for field in network_fields() {
                match system.text(field) {
                    Some(text) if field == TOPOLOGY => add("the cabling", cabling(subject, &text)),
                    Some(text) => add(field, text),
                    None => {}
                }
            }
        }
    }
    let joined = |values: BTreeSet<String>| Vec::from_iter(values).join(" and ");
    all.into_iter().map(|(key, values)| (key, joined(values))).collect()
}

fn run_properties(record: &RunResult) -> Vec<(&'static str, String)> {
    let tls = if record.tls { " with TLS" } else { "" };
    let connections = format!(
        "to each node {}, streams on each {}, nodes {}",
        record.connections_per_node,
        record.streams_per_connection,
        record.nodes.len()
    );
    let mut all = vec![
        ("the transport", format!("{}{tls}", record.transport)),
        ("the number of connections", connections),
    ];
    if let Some(evidence) = &record.evidence {
        let nodes: BTreeSet<_> = evidence.nodes.values().map(interfaces).collect();
        all.push(("the network of the LoadGen node", interfaces(&evidence.loadgen_node)));
        all.push(("the network of the nodes", Vec::from_iter(nodes).join(" and ")));
    }
    all
}

/// Describes the adapters that a machine's routes use, each kind with its number.
fn interfaces(machine: &Machine) -> String {
    let adapters = interfaces::carriers(machine).used.into_iter().flat_map(|interface| {
        let adapters = interfaces::adapters(machine, &interface.name).into_values().flatten();
        adapters.map(|adapter| {
            let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
            format!(
                "{} {} (driver {}, firmware {}, {} Mb/s, MTU {})",
                adapter.kind,
                word(&adapter.model),
                word(&adapter.driver),
                word(&adapter.firmware),
                adapter.speed_mbit_per_second.unwrap_or(0),
                interface.mtu_bytes.unwrap_or(0)
            )
        })
    });
    count_texts(adapters).join(", ")
}
