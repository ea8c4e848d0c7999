//! N20: the SUT's configuration is named: the evidence contains the settings of every machine
//! (rules, section 6.2.3).

use std::collections::BTreeMap;

use netdiv_contract::v1::Machine;
use serde_json::Value;

use crate::{
    facts::{
        count_texts,
        machines::{non_empty, published_settings},
    },
    input::files::sha256_of,
    record::{Evidence, Node, RunResult},
    subject::{Findings, RunEvidence, Subject, runs_with_evidence},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (place, nodes) in subject.shared_machines() {
        found.pass(place, format!("{nodes} are on one machine, and share its interfaces"));
    }
    for seen in runs_with_evidence(subject, found) {
        let mut at = found.at(seen.place);
        at.fail_each(settings_violations(&seen));
        at.or_pass("the settings of every node are recorded, with their hashes");
    }
    same_machines(subject, found);
    found.records(subject, record_contradictions);
}

/// Returns contradictions between a record and the evidence of its machines.
fn record_contradictions(record: &RunResult) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(evidence) = &record.evidence {
        wrong.extend(record.nodes.iter().filter_map(|node| too_large_batch(node, evidence)));
    }
    let Some(evidence) = record.network_evidence() else { return wrong };
    let is_node = |name: &String| record.nodes.iter().any(|node| node.name == *name);
    for name in evidence.nodes.keys().filter(|name| !is_node(name)) {
        wrong.push(format!("there is evidence of {name}, which is not a node of the run"));
    }
    wrong.extend(
        evidence.machines().flat_map(|(name, machine)| unknown_supplied_fields(name, machine)),
    );
    wrong
}

fn too_large_batch(node: &Node, evidence: &Evidence) -> Option<String> {
    let settings = published_settings(evidence.nodes.get(&node.name)?);
    let most = settings.get("max_batch").and_then(toml::Value::as_integer)?;
    let sizes = node.batches.iter().filter(|(_, count)| **count > 0).map(|(size, _)| *size);
    let largest = sizes.max().filter(|largest| i64::from(*largest) > most)?;
    let name = &node.name;
    Some(format!("node {name} had batches of {largest}, and its max_batch is {most}"))
}

fn settings_violations(seen: &RunEvidence) -> Vec<String> {
    let loadgen = &seen.evidence.loadgen_node;
    let settings = wrong_settings(loadgen, None);
    let mut wrong: Vec<_> =
        settings.into_iter().map(|what| format!("the LoadGen node {what}")).collect();
    if seen.record.settings.is_empty() {
        wrong.push("the LoadGen node's own settings are not recorded".into());
    }
    for node in &seen.record.nodes {
        let name = &node.name;
        if let Some(machine) = seen.evidence.nodes.get(name) {
            let settings = wrong_settings(machine, Some(&node.config_sha256));
            wrong.extend(settings.into_iter().map(|what| format!("node {name} {what}")));
        }
    }
    wrong
}

/// Returns a finding for each field that an operator's evidence file states for a machine, but that
/// the description of a machine does not have.
fn unknown_supplied_fields(who: &str, machine: &Machine) -> Vec<String> {
    let fields = serde_json::to_value(machine).unwrap_or_default();
    let has = |path: &str| match path.split_once('.') {
        None => fields.get(path).is_some(),
        Some((list, rest)) => {
            let items = fields.get(list).and_then(|list| list.as_array()).into_iter().flatten();
            let mut names = items.filter_map(|item| item.get("name")?.as_str());
            names.any(|name| rest.strip_prefix(name).is_some_and(|field| field.starts_with('.')))
        }
    };
    let strangers = machine.supplied.iter().filter(|path| !has(path));
    let text = |path| {
        format!("the evidence file of {who} states `{path}`, and a machine has no such field")
    };
    strangers.map(text).collect()
}

/// Returns the faults of the settings in a machine's evidence, as phrases that follow the name of
/// the machine. `announced` is the SHA-256 of its settings that a node reported before the run;
/// `None` for the LoadGen node.
fn wrong_settings(machine: &Machine, announced: Option<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = machine.settings.as_deref().filter(|text| !text.trim().is_empty());
    if text.is_none() {
        wrong.push("did not report its settings".to_owned());
    }
    let stated = non_empty(&machine.settings_sha256);
    match (text, stated) {
        (_, None) => wrong.push("did not report the SHA-256 of its settings".into()),
        (Some(text), Some(stated)) if sha256_of(text) != stated => wrong.push(
            "published settings whose SHA-256 differs from the reported one: take the evidence as the run recorded it".into(),
        ),
        _ => {}
    }
    match announced {
        Some("") => {
            wrong.push("did not report the SHA-256 of the settings that it ran with".into())
        }
        Some(announced) if stated.is_some_and(|stated| stated != announced) => {
            wrong.push(format!(
                "ran with settings of SHA-256 {announced}, and the recorded settings have {}",
                stated.unwrap_or_default()
            ));
        }
        _ => {}
    }
    wrong
}

/// Fields of a machine's evidence that are not compared: they differ between runs, other rules
/// judge them, or the start of a container changes them.
const RUN_FIELDS: [&str; 10] = [
    "host_name",
    "boot_id",
    "routes",
    "interfaces",
    "container_image",
    "program",
    "framework",
    "settings",
    "settings_sha256",
    "supplied",
];

/// Fields of a machine's evidence that can change only when the machine boots.
const BOOT_FIELDS: [&str; 8] = [
    "bios_version",
    "kernel",
    "cpu_model",
    "cpu_sockets",
    "cpu_cores_per_socket",
    "cpu_caches",
    "memory_ecc",
    "virtual_machine",
];

/// First value of each field by machine and name of the field, with the path of the record that
/// contains the value.
type FirstValues<'s> = BTreeMap<(String, String), (String, &'s str)>;

/// Finds names of machines that denote different machines, or a machine with different setups, in
/// two runs of a system.
fn same_machines(subject: &Subject, found: &mut Findings) {
    let [mut lasting_ones, mut of_boots, mut set_up] =
        [FirstValues::new(), FirstValues::new(), FirstValues::new()];
    for (entry, run) in subject.runs() {
        let (Some(system), Some(record)) = (entry.system(), run.result()) else { continue };
        let place = run.record_place.as_str();
        for (name, machine) in record.evidence.iter().flat_map(|evidence| evidence.machines()) {
            let who = format!("{system} {name}");
            let mut is_other = false;
            for (first, by) in differences(&mut lasting_ones, &who, lasting_facts(machine), place) {
                let text = format!(
                    "{name} is another machine than in {first}, by its {by}: make all runs of a system on the same machines"
                );
                found.fail(place, text);
                is_other = true;
            }
            // The other fields of another machine differ, too, and are not compared.
            if is_other {
                continue;
            }
            let fields = fields(machine);
            let (of_boot, others): (Vec<_>, Vec<_>) =
                fields.into_iter().partition(|(what, _)| BOOT_FIELDS.contains(&what.as_str()));
            if let Some(boot) = non_empty(&machine.boot_id) {
                let key = format!("{boot} {who}");
                for (first, by) in differences(&mut of_boots, &key, of_boot, place) {
                    let text = format!(
                        "{name} has another {by} than in {first}, and was not booted in between: take the record as the run \
                         wrote it"
                    );
                    found.fail(place, text);
                }
            }
            for (first, by) in differences(&mut set_up, &who, others, place) {
                let text = format!(
                    "{name} was set up differently than in {first}, by its {by}: make all runs with one setup of the \
                     machines, or document what changed"
                );
                found.unknown(place, text);
            }
        }
    }
}

/// Returns the names of the fields that differ from their first values in `known`, by the path of
/// the record with the first value. Adds new fields to `known`. `who` names the machine.
fn differences<'s>(
    known: &mut FirstValues<'s>,
    who: &str,
    fields: Vec<(String, String)>,
    place: &'s str,
) -> BTreeMap<&'s str, String> {
    let mut differ: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (what, value) in fields {
        let first = known.entry((who.into(), what.clone())).or_insert((value.clone(), place));
        if first.0 != value {
            differ.entry(first.1).or_default().push(what);
        }
    }
    differ.into_iter().map(|(first, by)| (first, by.join(", "))).collect()
}

/// Returns the name and the value of each fact that identifies a machine and that no boot changes.
fn lasting_facts(machine: &Machine) -> Vec<(String, String)> {
    let text = |text: &Option<String>| non_empty(text).map(str::to_owned);
    let models = || count_texts(machine.accelerators.iter().map(|one| &one.name)).join(", ");
    let facts = [
        ("machine id", text(&machine.machine_id)),
        ("board serial number", text(&machine.board_serial)),
        ("product", text(&machine.product)),
        ("processors", text(&machine.cpu_model)),
        ("accelerators", machine.accelerator_count.map(|count| format!("{count}: {}", models()))),
    ];
    facts.into_iter().filter_map(|(what, value)| Some((what.to_owned(), value?))).collect()
}

/// Returns the name and the value of each field except [`RUN_FIELDS`], and each interface that is
/// not virtual as the field `interface NAME`.
fn fields(machine: &Machine) -> Vec<(String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(machine) else { return Vec::new() };
    let is_said = |(name, value): &(String, Value)| {
        !RUN_FIELDS.contains(&name.as_str()) && !value.is_null() && *value != serde_json::json!([])
    };
    let fields = fields.into_iter().filter(is_said).map(|(name, value)| (name, value.to_string()));
    let devices = machine.interfaces.iter().filter(|interface| interface.kind != "virtual");
    let devices = devices.filter_map(|interface| {
        let mut fields = serde_json::to_value(interface).ok()?;
        // A cable may be pulled between two runs.
        fields.as_object_mut()?.remove("up");
        Some((format!("interface {}", interface.name), fields.to_string()))
    });
    fields.chain(devices).collect()
}
