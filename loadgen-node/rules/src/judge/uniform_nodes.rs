//! Requires the nodes of a SUT to run one model, with one program and one framework, for N2 (rules,
//! sections 2.2 and 4.1.1). Machines may differ, and so may settings for a machine: devices,
//! batches, threads, windows.

use std::collections::BTreeMap;

use crate::facts::node_software::{
    ENGINE, FRAMEWORK, MODEL, NodeSoftware, PROGRAM, SETTING, VERSION, brief,
};

/// Lists forbidden differences between the nodes of a run, each with its remedy.
pub(crate) fn node_differences(nodes: &BTreeMap<&str, NodeSoftware>) -> Vec<String> {
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
