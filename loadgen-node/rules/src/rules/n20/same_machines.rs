//! Finds names of machines that denote different machines, or a machine with different setups, in
//! two runs of a system.

use std::collections::BTreeMap;

use netdiv_contract::v1::Machine;
use serde_json::Value;

use crate::{
    facts::{count_texts, machines::non_empty},
    subject::{Findings, Subject},
};

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

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
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
