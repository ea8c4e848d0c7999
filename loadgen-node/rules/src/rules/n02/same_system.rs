//! Finds results whose nodes differ in model, program or framework, and results of one system that
//! differ from each other in these (rules, sections 2.2 and 4.1.1). N30 judges differences between
//! the runs of one result, and N20 differences between machines.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    facts::node_software::{
        ENGINE, FRAMEWORK, IMAGE, KERNEL, MODEL, NodeSoftware, PROGRAM, SETTING, VERSION, brief,
    },
    subject::{Findings, ResultEntry, Subject},
};

/// Properties that must be equal in all results of a system.
const SYSTEM_PROPERTIES: [&str; 3] = [PROGRAM, VERSION, KERNEL];

/// Properties that must be equal in all results of a benchmark on one system. Another benchmark may
/// need another engine.
const BENCHMARK_PROPERTIES: [&str; 4] = [MODEL, ENGINE, FRAMEWORK, IMAGE];

/// Fields of a measurements file that describe the weights of the model. If two results differ in
/// one of them, their models may differ, too: another scenario may use other weights.
const WEIGHT_FIELDS: [&str; 4] = [
    "starting_weights_filename",
    "weight_data_types",
    "weight_transformations",
    "input_data_types",
];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let of_entries: Vec<_> =
        subject.results.iter().map(|entry| (entry, common_properties(entry))).collect();
    for (number, (entry, here)) in of_entries.iter().enumerate() {
        let mut wrong = node_differences(here);
        let on_it = |(other, _): &&(&ResultEntry, _)| other.system() == entry.system();
        let before: Vec<_> = of_entries[..number].iter().filter(on_it).collect();
        let of_benchmark = before.iter().find(|(other, _)| other.name == entry.name);
        let compared =
            [(before.first(), &SYSTEM_PROPERTIES[..]), (of_benchmark, &BENCHMARK_PROPERTIES)];
        for (other, whats) in compared {
            let Some((other, there)) = other else { continue };
            let whats = whats.iter().filter(|what| **what != MODEL || same_weights(entry, other));
            let place = other.records().next().map_or(other.place.as_str(), |(place, _)| place);
            for text in whats.flat_map(|what| changes(what, here, there)) {
                wrong.push(format!(
                    "{text} in {place}: one system runs one program, framework and kernel, and a benchmark one model: make \
                     all results alike"
                ));
            }
        }
        for (place, text) in
            entry.records().flat_map(|(place, _)| wrong.iter().map(move |text| (place, text)))
        {
            found.fail(place, text);
        }
    }
}

/// Lists forbidden differences between the nodes of a result, each with its remedy. Machines may
/// differ, and so may settings for a machine: devices, batches, threads, windows.
fn node_differences(nodes: &BTreeMap<&str, NodeSoftware>) -> Vec<String> {
    let mut all: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (name, running) in nodes {
        let alike = running.iter().filter(|(what, _)| {
            [MODEL, ENGINE, FRAMEWORK, PROGRAM, VERSION].contains(&what.as_str())
                || what.starts_with(SETTING)
        });
        for (what, value) in alike {
            all.entry(what).or_default().entry(value).or_default().push(name);
        }
    }
    let differ = all.into_iter().filter(|(_, values)| values.len() > 1);
    let said = differ.map(|(what, values)| {
        let values = values.into_iter();
        let values = values.map(|(value, nodes)| format!("{} at {}", brief(value), nodes.join(", ")));
        let values: Vec<_> = values.collect();
        format!(
            "the nodes differ in their {what}: {}; a result requires the same model, program and framework: start all nodes alike",
            values.join(", and ")
        )
    });
    said.collect()
}

/// Returns, by node, the properties that are equal in all runs of a result. N30 reports properties
/// that differ between these runs.
fn common_properties<'a>(entry: &'a ResultEntry) -> BTreeMap<&'a str, NodeSoftware> {
    let mut all: BTreeMap<&str, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (node, running) in entry.records().flat_map(|(_, record)| record.running()) {
        let known = all.entry(node).or_default();
        for (what, value) in running {
            known.entry(what).or_default().insert(value);
        }
    }
    let alone = |(what, values): (String, BTreeSet<String>)| {
        let mut values = values.into_iter();
        values.next().filter(|_| values.next().is_none()).map(|value| (what, value))
    };
    let of_node = |known: BTreeMap<_, _>| known.into_iter().filter_map(alone).collect();
    all.into_iter().map(|(node, known)| (node, of_node(known))).collect()
}

/// Compares the property `what` of each node in two results. Returns a text for each pair of
/// different values, with the names of the nodes that have them.
fn changes(
    what: &str,
    here: &BTreeMap<&str, NodeSoftware>,
    there: &BTreeMap<&str, NodeSoftware>,
) -> Vec<String> {
    let mut nodes: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (node, running) in here {
        let other = there.get(node).and_then(|other| other.get(what));
        if let (Some(value), Some(other)) = (running.get(what), other)
            && value != other
        {
            nodes.entry((value, other)).or_default().push(node);
        }
    }
    let text = |((here, there), nodes): ((&str, &str), Vec<&str>)| {
        format!("the {what} at {} is {}, and was {}", nodes.join(", "), brief(here), brief(there))
    };
    nodes.into_iter().map(text).collect()
}

/// Returns true if the measurements of two results state the same weights.
fn same_weights(one: &ResultEntry, other: &ResultEntry) -> bool {
    let fields = |entry: &ResultEntry| {
        let (_, fields) = entry.measurements.as_ref()?.as_ref().ok()?;
        Some(WEIGHT_FIELDS.map(|name| fields.get(name).cloned()))
    };
    fields(one) == fields(other)
}
