//! N36: the description of a system has the fields that the official checker asks for (network-division form).

use serde_json::{Map, Value};

use super::{
    checked_folder::{Subject, System, Tree},
    findings::{At, Findings},
};
use crate::{
    Rule::N36,
    book::system_fields::{FIELDS, Field, Kind},
    placeholder::is_placeholder,
    result::Division,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "a run folder has no systems/*.json: make a submission of the run and check that";
    let Some(tree) = found.tree(subject, [N36], text) else { return };
    if subject.systems.is_empty() && subject.idle_systems.is_empty() {
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
    let asked = || FIELDS.iter().filter(|field| over_network || field.kind != Kind::Network);
    let missing = asked().map(|field| field.name).filter(|name| !json.contains_key(*name));
    let missing: Vec<_> = missing.collect();
    if !missing.is_empty() {
        at.fail(format!("fields are missing: {}", missing.join(", ")));
    }
    for Field { name, kind, .. } in asked().filter(|field| field.kind != Kind::Free) {
        let Some(value) = json.get(*name) else { continue };
        let empty = match value {
            Value::String(text) => text.trim().is_empty(),
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::Null => true,
            _ => false,
        };
        if empty {
            at.fail(format!("{name} is {value}, which the checker takes for empty"));
        } else if *kind == Kind::Filled && value.as_str().is_some_and(is_placeholder) {
            at.fail(format!("{name} is {value}: say what it is"));
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
