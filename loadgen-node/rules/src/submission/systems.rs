//! The system description: what the submitter says, and where it says nothing, what the machines say.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{problems::Problems, stated, submission_toml::Settings};

/// A field of the description.
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Whether the official checker, or the rules, want something in it.
    must: bool,
    /// What to write, by an example.
    example: &'static str,
}

const fn must(name: &'static str, example: &'static str) -> Field {
    Field { name, must: true, example }
}

const fn may(name: &'static str) -> Field {
    Field { name, must: false, example: "" }
}

/// Every field that the official checkers ask for, in their order, but those that are said elsewhere. The last twelve are
/// those of a network system, which the checkers do not look into; section 6.2.2 wants them to say something.
const FIELDS: [Field; 43] = [
    must("system_name", "the name in the table of results"),
    must("number_of_nodes", "2"),
    must("host_processor_model_name", "AMD EPYC 9654"),
    must("host_processors_per_node", "2"),
    must("host_processor_core_count", "96, of each processor"),
    must("host_memory_capacity", "1.5 TB"),
    must("host_storage_capacity", "2 x 3.84 TB"),
    must("host_storage_type", "NVMe SSD"),
    must("accelerators_per_node", "8; 0 where there is none"),
    must("accelerator_model_name", "NVIDIA H100 PCIe"),
    must("accelerator_memory_capacity", "80 GB"),
    must("framework", "libtorch 2.11.0, CUDA 12.8"),
    must("operating_system", "Ubuntu 24.04"),
    must(
        "other_software_stack",
        "kernel, drivers, libraries, container images with their versions",
    ),
    may("host_processor_frequency"),
    may("host_processor_caches"),
    must("host_memory_configuration", "24 x 64 GB DDR5-4800"),
    may("host_processor_interconnect"),
    must("host_networking", "2 x 100 Gb/s Ethernet"),
    must("host_networking_topology", "two nodes on one switch"),
    may("accelerator_frequency"),
    must("accelerator_host_interconnect", "PCIe 5.0 x16"),
    must("accelerator_interconnect", "NVLink, 900 GB/s; none"),
    may("accelerator_interconnect_topology"),
    must("accelerator_memory_configuration", "HBM3"),
    may("accelerator_on-chip_memories"),
    must("cooling", "air, liquid"),
    may("hw_notes"),
    may("sw_notes"),
    must("host_network_card_count", "1 x ConnectX-6 Dx"),
    may("system_type_detail"),
    must("network_type", "Ethernet"),
    must("network_media", "copper DAC"),
    must("network_rate", "100 Gb/s"),
    must("nic_loadgen", "ConnectX-6 Dx"),
    must("number_nic_loadgen", "1"),
    must("net_software_stack_loadgen", "Linux 6.8 TCP, mlx5_core"),
    must("network_protocol", "gRPC over HTTP/2 over TCP over IPv4"),
    must("number_connections", "8"),
    must("nic_sut", "ConnectX-6 Dx"),
    must("number_nic_sut", "2, one in each node"),
    must("net_software_stack_sut", "Linux 6.8 TCP, mlx5_core"),
    must("network_topology", "loadgen:eth0 <-> leaf:1; node-a:eth0 <-> leaf:2"),
];

/// Keys of `[system]` that are said elsewhere, and where.
const ELSEWHERE: [(&str, &str); 5] = [
    ("division", "write it above [system]"),
    ("submitter", "write it above [system]"),
    ("status", "write it above [system]"),
    ("system_type", "it is always datacenter (section 6.2)"),
    ("is_network", "it is always True"),
];

/// Texts that say nothing.
const PLACEHOLDERS: [&str; 8] = ["todo", "tbd", "n/a", "na", "?", "-", "xxx", "unknown"];

/// The description: the settings before what is derived from the runs. Fields that must say something and do not are
/// faults.
pub(super) fn description(
    settings: &Settings,
    derived: &BTreeMap<&'static str, String>,
    problems: &mut Problems,
) -> Map<String, Value> {
    for key in settings.system.keys() {
        if let Some((_, why)) = ELSEWHERE.iter().find(|(name, _)| name == key) {
            problems.fault(format!("[system] {key}: {why}"));
        } else if key != "id" && !FIELDS.iter().any(|field| field.name == key) {
            problems
                .fault(format!("[system] {key}: there is no such field of a system description"));
        }
    }
    let word = |value: Option<String>| Value::from(value.unwrap_or_default());
    let mut description = Map::from_iter([
        ("division".to_owned(), word(settings.division.map(|one| one.to_string()))),
        ("submitter".into(), word(settings.submitter.clone())),
        ("status".into(), word(settings.status.map(|one| one.to_string()))),
        ("system_type".into(), "datacenter".into()),
        // The checkers want a text.
        ("is_network".into(), "True".into()),
    ]);
    for field in &FIELDS {
        let value = given(settings, field, derived, problems);
        description.insert(field.name.into(), value.into());
    }
    description
}

fn given(
    settings: &Settings,
    field: &Field,
    derived: &BTreeMap<&'static str, String>,
    problems: &mut Problems,
) -> String {
    let Field { name, must, example } = field;
    let derived = derived.get(name);
    let value = match settings.system.get(*name) {
        None => derived.cloned().unwrap_or_default(),
        Some(toml::Value::String(text)) => text.trim().to_owned(),
        Some(toml::Value::Integer(number)) => number.to_string(),
        Some(toml::Value::Float(number)) => number.to_string(),
        Some(_) => {
            problems.fault(format!("[system] {name}: write a text or a number"));
            return String::new();
        }
    };
    let says_nothing = PLACEHOLDERS.contains(&value.to_lowercase().as_str());
    if (*must && value.is_empty()) || says_nothing {
        let why =
            if says_nothing { format!("`{value}` says nothing") } else { "nothing says it".into() };
        problems.fault(format!("[system] {name}: {why}; write it, such as \"{example}\""));
    }
    if let Some(text) = derived.and_then(|derived| stated::contradiction(name, &value, derived)) {
        problems.fault(text);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_official_checkers_is_there_once() {
        let settings = Settings::default();
        let all = description(&settings, &BTreeMap::new(), &mut Problems::default());
        // 35 that are always required, and 13 of a network system.
        assert_eq!(all.len(), 35 + 13);
        assert_eq!(all["is_network"], "True");
        assert_eq!(all["system_type"], "datacenter");
    }

    #[test]
    fn fields_that_say_nothing_and_unknown_ones_are_faults() {
        let text = "[system]\nid = \"x\"\ncooling = \"TBD\"\nhw_notes = \"n/a\"\ncolour = \"red\"\n\
                    status = \"available\"\nnumber_of_nodes = 3\nhost_storage_type = [1]\n";
        let settings: Settings = toml::from_str(text).unwrap();
        let derived = BTreeMap::from([("number_of_nodes", "2".to_owned())]);
        let mut problems = Problems::default();
        description(&settings, &derived, &mut problems);
        let problems = problems.faults().join("\n");
        for want in [
            "[system] colour: there is no such field",
            "[system] status: write it above",
            "[system] cooling: `TBD` says nothing; write it, such as \"air, liquid\"",
            "[system] hw_notes: `n/a` says nothing",
            "number_of_nodes is 3, and the runs had 2; write that",
            "host_storage_type: write a text or a number",
            "[system] system_name: nothing says it",
        ] {
            assert!(problems.contains(want), "{want}: {problems}");
        }
        assert!(!problems.contains("sw_notes"));
    }
}
