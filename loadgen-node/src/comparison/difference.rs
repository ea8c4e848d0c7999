//! What is not the same on all sides.

use std::collections::{BTreeMap, BTreeSet};

use netdiv_evidence::Machine;
use serde::Serialize;

use super::Side;
use crate::result::RunResult;

/// A setting, a program or a part of a machine that differs between sides.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) what: String,
    /// Side by side; several where the runs of a side differ among themselves.
    pub(crate) values: Vec<Vec<String>>,
}

/// Settings that name a place rather than change a run.
const PLACES: [&str; 3] = ["settings output", "settings traces", "settings metrics"];

/// What is said where a run does not say it.
const ABSENT: &str = "–";

/// All that differs, by name.
pub(crate) fn differences(sides: &[Side]) -> Vec<Difference> {
    let facts: Vec<Vec<_>> =
        sides.iter().map(|side| side.runs.iter().map(|run| facts(&run.result)).collect()).collect();
    let names: BTreeSet<_> = facts.iter().flatten().flat_map(BTreeMap::keys).collect();
    let of = |name: &String, runs: &[BTreeMap<String, String>]| -> Vec<String> {
        let value = |run: &BTreeMap<String, String>| run.get(name).cloned();
        let values = runs.iter().map(|run| value(run).unwrap_or_else(|| ABSENT.into()));
        values.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let all = names.into_iter().map(|name| Difference {
        what: name.clone(),
        values: facts.iter().map(|runs| of(name, runs)).collect(),
    });
    all.filter(|difference| {
        let first = difference.values.first();
        difference.values.iter().any(|values| values.len() > 1 || Some(values) != first)
    })
    .collect()
}

/// All that may make a run faster or slower, by name.
fn facts(result: &RunResult) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut add = |name: String, value: Option<String>| {
        if !PLACES.contains(&&*name) {
            facts.extend(value.map(|value| (name, value)));
        }
    };
    for (key, value) in &result.settings {
        add(format!("settings {key}"), Some(value.to_string()));
    }
    for (key, value) in &result.test_settings {
        add(format!("LoadGen {key}"), Some(value.clone()));
    }
    let versions = &result.versions;
    add("version of loadgen-node".into(), Some(versions.loadgen_node.clone()));
    add("sources of loadgen-node".into(), Some(versions.sources_sha256.clone()));
    add("version of LoadGen".into(), Some(versions.loadgen.clone()));
    add("data set".into(), Some(result.dataset.clone()));
    add("encoding".into(), Some(result.encoding.to_string()));
    add("transport".into(), Some(result.transport.to_string()));
    add("TLS".into(), Some(result.tls.to_string()));
    add("nodes".into(), Some(result.nodes.len().to_string()));
    // Nodes may come in any order and under any name; what they run and are made of is what counts.
    let mut of_nodes = BTreeMap::<&str, BTreeSet<String>>::new();
    for node in &result.nodes {
        for (what, value) in [
            ("engines", &node.engine),
            ("models", &node.model),
            ("SHA-256 of models", &node.model_sha256),
            ("configurations of nodes", &node.config_sha256),
            ("versions of sut-node", &node.software_version),
        ] {
            of_nodes.entry(what).or_default().insert(value.clone());
        }
    }
    for (what, values) in of_nodes {
        add(what.into(), Some(values.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if let Some(evidence) = &result.evidence {
        for (what, value) in machine(&evidence.loadgen_node) {
            add(format!("LoadGen node {what}"), value);
        }
        let mut of_machines = BTreeMap::<&str, BTreeSet<String>>::new();
        for (what, value) in evidence.nodes.values().flat_map(machine) {
            of_machines.entry(what).or_default().extend(value);
        }
        for (what, values) in of_machines {
            let values: Vec<_> = values.into_iter().collect();
            add(format!("SUT nodes' {what}"), (!values.is_empty()).then(|| values.join(", ")));
        }
    }
    facts
}

fn machine(of: &Machine) -> [(&'static str, Option<String>); 8] {
    let names = |names: Vec<String>| (!names.is_empty()).then(|| names.join(", "));
    let interface = |route: &netdiv_evidence::Route| {
        let found = of.interfaces.iter().find(|i| Some(&i.name) == route.interface.as_ref())?;
        let speed = found.speed_mbit_per_second.map(|mbit| format!(" {mbit} Mbit/s"));
        let mtu = found.mtu_bytes.map(|mtu| format!(" MTU {mtu}"));
        Some(format!("{}{}{}", found.name, speed.unwrap_or_default(), mtu.unwrap_or_default()))
    };
    let interfaces: BTreeSet<_> = of.routes.iter().filter_map(interface).collect();
    [
        ("host", of.host_name.clone()),
        ("processors", of.cpu_model.clone()),
        ("threads", of.cpu_threads.map(|threads| threads.to_string())),
        ("memory, bytes", of.memory_bytes.map(|bytes| bytes.to_string())),
        ("kernel", of.kernel.clone()),
        ("container", of.container_image.clone()),
        ("accelerators", names(of.accelerators.iter().map(|a| a.name.clone()).collect())),
        ("interfaces", names(interfaces.into_iter().collect())),
    ]
}
