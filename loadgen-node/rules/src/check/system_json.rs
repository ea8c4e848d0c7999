//! N36: the description of a system has the fields that the official checker asks for (network-division form).

use serde_json::{Map, Value};

use super::{
    checked_folder::{Subject, System, Tree},
    findings::{At, Findings},
};
use crate::{Rule::N36, placeholder::is_placeholder, result::Division};

/// Asked of every system over a network.
pub(super) const NETWORK_FIELDS: [&str; 13] = [
    "is_network",
    "network_type",
    "network_media",
    "network_rate",
    "nic_loadgen",
    "number_nic_loadgen",
    "net_software_stack_loadgen",
    "network_protocol",
    "number_connections",
    "nic_sut",
    "number_nic_sut",
    "net_software_stack_sut",
    "network_topology",
];

/// Asked of every system, and never empty.
const FILLED_FIELDS: [&str; 26] = [
    "division",
    "submitter",
    "system_type",
    "status",
    "system_name",
    "number_of_nodes",
    "host_processor_model_name",
    "host_processors_per_node",
    "host_processor_core_count",
    "host_memory_capacity",
    "host_memory_configuration",
    "host_storage_capacity",
    "host_storage_type",
    "host_networking",
    "host_network_card_count",
    "host_networking_topology",
    "accelerators_per_node",
    "accelerator_model_name",
    "accelerator_memory_capacity",
    "accelerator_host_interconnect",
    "accelerator_memory_configuration",
    "accelerator_interconnect",
    "cooling",
    "framework",
    "operating_system",
    "other_software_stack",
];

/// Asked of every system; may be empty.
const OTHER_FIELDS: [&str; 9] = [
    "host_processor_frequency",
    "host_processor_caches",
    "host_processor_interconnect",
    "accelerator_frequency",
    "accelerator_interconnect_topology",
    "accelerator_on-chip_memories",
    "hw_notes",
    "sw_notes",
    "system_type_detail",
];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else {
        let text =
            "a run folder has no systems/*.json: make a submission of the run and check that";
        return found.unknown(N36, "", text);
    };
    if subject.systems.is_empty() {
        let place = tree.home.root();
        found.fail(N36, place, "there is no system: systems/*.json and results/ are missing");
    }
    for system in &subject.systems {
        let mut at = found.at(N36, &system.place);
        match &system.json {
            Err(why) => at.fail(why),
            Ok(json) => fields(system, json, tree, subject.division, &mut at),
        }
        at.or_pass("every field that the checker asks for is there");
    }
}

fn fields(
    system: &System,
    json: &Map<String, Value>,
    tree: &Tree,
    division: Division,
    at: &mut At,
) {
    let is_network = json.get("is_network");
    let over_network = division == Division::Network || is_network.is_some();
    let network: &[&str] = if over_network { &NETWORK_FIELDS } else { &[] };
    let asked = FILLED_FIELDS.iter().chain(&OTHER_FIELDS).chain(network);
    let missing: Vec<_> = asked.filter(|field| !json.contains_key(**field)).copied().collect();
    if !missing.is_empty() {
        at.fail(format!("fields are missing: {}", missing.join(", ")));
    }
    for field in FILLED_FIELDS.iter().chain(network) {
        let Some(value) = json.get(*field) else { continue };
        let empty = match value {
            Value::String(text) => text.trim().is_empty(),
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::Null => true,
            _ => false,
        };
        if empty {
            at.fail(format!("{field} is {value}, which the checker takes for empty"));
        } else if FILLED_FIELDS.contains(field) && value.as_str().is_some_and(is_placeholder) {
            at.fail(format!("{field} is {value}: say what it is"));
        }
    }
    let network_word = is_network.and_then(|value| value.as_str()).map(str::to_lowercase);
    match (division, is_network, network_word.as_deref()) {
        (_, Some(value), None) => {
            at.fail(format!("is_network is {value}: it must be the text \"True\" or \"False\""));
        }
        (Division::Network, _, word) if word != Some("true") => {
            at.fail("is_network is not \"True\"");
        }
        _ => {}
    }
    let same = |field: &str, want: &str| system.text(field).is_none_or(|text| text == want);
    if !same("division", &tree.home.division) {
        at.fail(format!("division is not {}, as the folder is", tree.home.division));
    }
    let submitter = system.text("submitter");
    if submitter.is_some_and(|name| !name.eq_ignore_ascii_case(&tree.home.submitter)) {
        at.fail(format!("submitter is not {}, as the folder is", tree.home.submitter));
    }
    let status = system.text("status").map(|status| status.to_lowercase());
    if status.is_some_and(|status| !["available", "preview", "rdi"].contains(&status.as_str())) {
        at.fail("status is none of available, preview and rdi");
    }
    for field in ["number_of_nodes", "accelerators_per_node"] {
        let whole = system.text(field).is_none_or(|text| text.parse::<u64>().is_ok());
        if !whole {
            at.fail(format!("{field} is no whole number"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_are_asked_for() {
        assert_eq!(FILLED_FIELDS.len() + OTHER_FIELDS.len(), 35);
    }
}
