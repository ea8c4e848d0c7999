//! Of N2: the nodes of a SUT run one model, by one program and one framework (rules, sections 2.2 and 4.1.1). Their machines
//! may differ, and so may what is set for a machine: devices, batches, threads, windows.

use std::collections::BTreeMap;

use crate::facts::running::{ENGINE, FRAMEWORK, MODEL, PROGRAM, Running, SETTING, VERSION, brief};

/// What differs among the nodes of a run that has to be alike, each with what to do.
pub(crate) fn unlike(nodes: &BTreeMap<&str, Running>) -> Vec<String> {
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
            "the nodes differ in their {what}: {}; a result is of one model, program and framework: start all nodes alike",
            values.join(", and ")
        )
    });
    said.collect()
}
