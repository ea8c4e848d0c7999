//! N36: the description of a system has the fields that the official checker asks for (network-division form).

use super::{
    checked_folder::{Subject, System, Tree},
    findings::Findings,
};
use crate::{Rule, placeholder::is_placeholder, result::Division};

const N36: Rule = Rule::new(36);

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
        let before = found.problems(N36);
        match &system.json {
            Err(why) => found.fail(N36, &system.place, why),
            Ok(_) => fields(system, tree, subject.division, found),
        }
        let text = "every field that the checker asks for is there";
        found.pass_unless_more(N36, before, &system.place, text);
    }
}

fn fields(system: &System, tree: &Tree, division: Division, found: &mut Findings) {
    let Ok(json) = &system.json else { return };
    let mut wrong = |text: String| found.fail(N36, &system.place, text);
    let is_network = json.get("is_network");
    let over_network = division == Division::Network || is_network.is_some();
    let network: &[&str] = if over_network { &NETWORK_FIELDS } else { &[] };
    let asked = FILLED_FIELDS.iter().chain(&OTHER_FIELDS).chain(network);
    let missing: Vec<_> = asked.filter(|field| !json.contains_key(**field)).copied().collect();
    if !missing.is_empty() {
        wrong(format!("fields are missing: {}", missing.join(", ")));
    }
    for field in FILLED_FIELDS.iter().chain(network) {
        let Some(value) = json.get(*field) else { continue };
        let empty = match value {
            serde_json::Value::String(text) => text.trim().is_empty(),
            serde_json::Value::Number(number) => number.as_f64() == Some(0.0),
            serde_json::Value::Null => true,
            _ => false,
        };
        if empty {
            wrong(format!("{field} is {value}, which the checker takes for empty"));
        } else if FILLED_FIELDS.contains(field) && value.as_str().is_some_and(is_placeholder) {
            wrong(format!("{field} is {value}: say what it is"));
        }
    }
    let network_word = is_network.and_then(|value| value.as_str()).map(str::to_lowercase);
    match (division, is_network, network_word.as_deref()) {
        (_, Some(value), None) => {
            wrong(format!("is_network is {value}: it must be the text \"True\" or \"False\""));
        }
        (Division::Network, _, word) if word != Some("true") => {
            wrong("is_network is not \"True\"".into());
        }
        _ => {}
    }
    let same = |field: &str, want: &str| system.text(field).is_none_or(|text| text == want);
    if !same("division", &tree.home.division) {
        wrong(format!("division is not {}, as the folder is", tree.home.division));
    }
    let submitter = system.text("submitter");
    if submitter.is_some_and(|name| !name.eq_ignore_ascii_case(&tree.home.submitter)) {
        wrong(format!("submitter is not {}, as the folder is", tree.home.submitter));
    }
    let status = system.text("status").map(|status| status.to_lowercase());
    if status.is_some_and(|status| !["available", "preview", "rdi"].contains(&status.as_str())) {
        wrong("status is none of available, preview and rdi".into());
    }
    for field in ["number_of_nodes", "accelerators_per_node"] {
        let whole = system.text(field).is_none_or(|text| text.parse::<u64>().is_ok());
        if !whole {
            wrong(format!("{field} is no whole number"));
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
