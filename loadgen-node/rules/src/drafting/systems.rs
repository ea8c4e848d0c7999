//! Makes the system description: from fields derived from the runs and the links, and from the
//! fields that the submitter wrote where these determine nothing.

use std::collections::BTreeMap;

use netdiv_node_common::words::{did_you_mean, is_todo};
use serde_json::{Map, Value};

use super::{gap::Problems, submission_toml::SubmissionSettings};
use crate::{
    Division,
    book::system_fields::{FIELDS, FieldRequirement, SystemField, UNRECORDED_FIELDS},
    placeholder::is_placeholder,
};

/// Fields of the system description that must not be keys of `[system]`, each with the remedy.
const FIXED_FIELDS: [(&str, &str); 5] = [
    ("division", "write it above [system]"),
    ("submitter", "write it above [system]"),
    ("status", "write it above [system]"),
    ("system_type", "it is always datacenter (section 6.2)"),
    ("is_network", "it follows from the division"),
];

/// Field that the links determine, unless the submitter describes it in words.
const HOST_TOPOLOGY: &str = "host_networking_topology";

/// Returns true if a field of the description must not be a key of `[system]`.
pub(crate) fn is_fixed_field(field: &str) -> bool {
    FIXED_FIELDS.iter().any(|(name, _)| *name == field)
}

/// Makes the description. `derived`, the fields derived from the runs and the links, take precedence
/// over those in the settings; the check of the tree finds settings with another value. Adds a fault
/// for each required field without a meaningful value.
pub(super) fn description(
    settings: &SubmissionSettings,
    derived: &BTreeMap<&'static str, String>,
    problems: &mut Problems,
) -> Map<String, Value> {
    for key in settings.system.keys() {
        if let Some((_, why)) = FIXED_FIELDS.iter().find(|(name, _)| name == key) {
            problems.fault(format!("[system] {key}: {why}"));
        } else if key != "id" && !FIELDS.iter().any(|field| field.name == key) {
            let meant = did_you_mean(key, FIELDS.iter().map(|field| field.name));
            let why = "a system description has no such field";
            problems.fault(format!("[system] {key}: {why}{meant}"));
        }
    }
    let word = |value: Option<String>| Value::from(value.unwrap_or_default());
    let mut description = Map::from_iter([
        ("division".to_owned(), word(settings.division.map(|one| one.to_string()))),
        ("submitter".into(), word(settings.submitter.clone())),
        ("status".into(), word(settings.status.map(|one| one.to_string()))),
        ("system_type".into(), "datacenter".into()),
    ]);
    if settings.division != Some(Division::Closed) {
        // The checkers require a text, not a boolean.
        description.insert("is_network".into(), "True".into());
    }
    for field in &FIELDS {
        if !description.contains_key(field.name) && !is_left_out(settings, field) {
            let value = field_value(settings, field, derived, problems);
            description.insert(field.name.into(), value.into());
        }
    }
    description
}

/// Returns true if the description lacks a field: in the Closed division the fields of a network are
/// optional.
fn is_left_out(settings: &SubmissionSettings, field: &SystemField) -> bool {
    settings.division == Some(Division::Closed)
        && field.kind == FieldRequirement::Network
        && !settings.system.contains_key(field.name)
}

/// Checks the description before there are runs. A single fault represents all fields that the
/// evidence of runs may fill in.
pub(super) fn check_without_runs(settings: &SubmissionSettings, problems: &mut Problems) {
    let awaits_runs = |field: &&SystemField| {
        field.kind != FieldRequirement::Free
            && !settings.system.contains_key(field.name)
            && !UNRECORDED_FIELDS.contains(&field.name)
            && !is_fixed_field(field.name)
            && !is_left_out(settings, field)
    };
    let awaiting: Vec<_> = FIELDS.iter().filter(awaits_runs).map(|field| field.name).collect();
    let filled: BTreeMap<_, _> =
        awaiting.iter().map(|name| (*name, "from the runs".to_owned())).collect();
    description(settings, &filled, problems);
    if let [first, ..] = awaiting[..] {
        problems.fault(format!(
            "[system] has {} other fields, such as {first}, which the runs' evidence fills in: make those first",
            awaiting.len()
        ));
    }
}

fn field_value(
    settings: &SubmissionSettings,
    field: &SystemField,
    derived: &BTreeMap<&'static str, String>,
    problems: &mut Problems,
) -> String {
    let SystemField { name, kind, example } = field;
    let value = match (settings.system.get(*name).map(stated_text), derived.get(name)) {
        (Some(None), _) => {
            problems.fault(format!("[system] {name}: write a text or a number"));
            return String::new();
        }
        (Some(Some(text)), derived) if derived.is_none() || *name == HOST_TOPOLOGY => {
            if is_todo(&text) {
                return String::new();
            }
            text
        }
        (_, derived) => derived.cloned().unwrap_or_default(),
    };
    let must = *kind != FieldRequirement::Free;
    if is_placeholder(&value) && (must || !value.is_empty()) {
        let why = match value.as_str() {
            "" => "it is missing".into(),
            value => format!("`{value}` is a placeholder"),
        };
        problems.fault(format!("[system] {name}: {why}; write it, such as \"{example}\""));
    }
    value
}

/// Returns the text of a value in the settings; `None` if it is neither a text nor a number.
pub(crate) fn stated_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.trim().to_owned()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_official_checkers_is_there_once() {
        let settings = SubmissionSettings::default();
        let all = description(&settings, &BTreeMap::new(), &mut Problems::default());
        // 35 that are always required, and 13 of a network system.
        assert_eq!(all.len(), 35 + 13);
        assert_eq!(all["is_network"], "True");
        assert_eq!(all["system_type"], "datacenter");
    }

    #[test]
    fn fields_that_say_nothing_and_unknown_ones_are_faults() {
        let text = "[system]\nid = \"x\"\ncooling = \"TBD\"\nhw_notes = \"n/a\"\ncolour = \"red\"\n\
                    acelerator_model_name = \"H100\"\n\
                    status = \"available\"\nhost_storage_type = [1]\n";
        let settings: SubmissionSettings = toml::from_str(text).unwrap();
        let mut problems = Problems::default();
        description(&settings, &BTreeMap::new(), &mut problems);
        let problems: Vec<_> = problems.gaps.into_iter().map(|gap| gap.text).collect();
        let problems = problems.join("\n");
        for want in [
            "[system] colour: a system description has no such field",
            "no such field (did you mean accelerator_model_name?)",
            "[system] status: write it above",
            "[system] cooling: `TBD` is a placeholder; write it, such as \"air, liquid\"",
            "[system] hw_notes: `n/a` is a placeholder",
            "host_storage_type: write a text or a number",
            "[system] system_name: it is missing",
        ] {
            assert!(problems.contains(want), "{want}: {problems}");
        }
        assert!(!problems.contains("sw_notes"));
    }
}
