//! N37: the networking is that of another submission, so that an audit of one is good for both (rules, section 2.8).

use std::collections::BTreeMap;

use netdiv_contract::v1::Machine;

use super::{checked_folder::Subject, findings::Findings, system_json::NETWORK_FIELDS, topology};
use crate::{Rule, facts::interfaces::Interfaces as _, result::RunResult};

const N37: Rule = Rule::new(37);

/// It names machines, which may be called otherwise elsewhere.
const TOPOLOGY: &str = "network_topology";

pub(super) fn judge(subject: &Subject, others: Option<&[Subject]>, found: &mut Findings) {
    let Some(others) = others else {
        let text = "no other submission was named to compare with: name it with --against";
        return found.unknown(N37, "", text);
    };
    let is_tree = |subject: &Subject| subject.tree.is_some();
    if others.iter().any(|other| is_tree(other) != is_tree(subject)) {
        let text = "a run says less than a submission: compare a submission with a submission, a run with a run";
        return found.unknown(N37, "", text);
    }
    let before = found.problems(N37);
    let (ours, theirs) = (described(std::slice::from_ref(&subject)), described_all(others));
    if ours.is_empty() || theirs.is_empty() {
        let text = "one of the two says nothing of its networking: its runs have no evidence";
        return found.unknown(N37, "", text);
    }
    let keys: std::collections::BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    for key in keys {
        let one = ours.get(key).map_or("nothing", String::as_str);
        let other = theirs.get(key).map_or("nothing", String::as_str);
        if one != other {
            found.fail(N37, "", format!("{key} is {one} here and {other} there"));
        }
    }
    found.pass_unless_more(N37, before, "", "the networking is the same");
}

fn described_all(subjects: &[Subject]) -> BTreeMap<String, String> {
    described(&subjects.iter().collect::<Vec<_>>())
}

/// Switches and cables without the names of their ends, which may change; or the text as it is.
fn cabling(subject: &Subject, text: &str) -> String {
    let Some(links) = topology::links(text) else { return text.to_owned() };
    let switches = topology::switches(subject, &links).len();
    let mut cables: BTreeMap<&str, usize> = BTreeMap::new();
    for link in &links {
        *cables.entry(&link.text).or_default() += 1;
    }
    let cables = cables.iter().map(|(text, count)| format!("{count} x {text}"));
    let cables: Vec<_> = cables.collect();
    format!("{switches} switches, {}", cables.join(", "))
}

/// What the networking is, by what is compared.
fn described(subjects: &[&Subject]) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |key: &str, value: String| {
        let values = all.entry(key.into()).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    };
    for subject in subjects {
        for (_, record) in subject.records() {
            for (key, value) in of_run(record) {
                add(key, value);
            }
        }
        for system in &subject.systems {
            for field in NETWORK_FIELDS.iter().filter(|field| **field != TOPOLOGY) {
                if let Some(text) = system.text(field) {
                    add(field, text);
                }
            }
            if let Some(text) = system.text(TOPOLOGY) {
                add("the cabling", cabling(subject, &text));
            }
        }
    }
    all.into_iter()
        .map(|(key, mut values)| {
            values.sort();
            (key, values.join(" and "))
        })
        .collect()
}

fn of_run(record: &RunResult) -> Vec<(&'static str, String)> {
    let tls = if record.tls { " with TLS" } else { "" };
    let mut all = vec![
        ("the transport", format!("{}{tls}", record.transport)),
        (
            "the number of connections",
            format!(
                "{} of {} streams to each of {} nodes",
                record.connections_per_node,
                record.streams_per_connection,
                record.nodes.len()
            ),
        ),
    ];
    if let Some(evidence) = &record.evidence {
        all.push(("the network of the LoadGen node", interfaces(&evidence.loadgen_node)));
        let mut nodes: Vec<_> = evidence.nodes.values().map(interfaces).collect();
        nodes.sort();
        nodes.dedup();
        all.push(("the network of the nodes", nodes.join(" and ")));
    }
    all
}

/// The adapters in use: what they are, and how many.
fn interfaces(machine: &Machine) -> String {
    let mut all: BTreeMap<String, usize> = BTreeMap::new();
    for interface in machine.carriers().used {
        for adapter in machine.adapters(&interface.name).into_values().flatten() {
            let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
            let speed = adapter.speed_mbit_per_second.map_or(0, |speed| speed);
            let text = format!(
                "{} {} (driver {}, firmware {}, {speed} Mb/s, MTU {})",
                adapter.kind,
                word(&adapter.model),
                word(&adapter.driver),
                word(&adapter.firmware),
                interface.mtu_bytes.map_or(0, |mtu| mtu)
            );
            *all.entry(text).or_default() += 1;
        }
    }
    let words = all.iter().map(|(text, count)| format!("{count} x {text}"));
    words.collect::<Vec<_>>().join(", ")
}
