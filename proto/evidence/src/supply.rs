//! What an operator states about a machine, in a TOML file whose keys are fields of `Machine`.

use std::path::Path;

use netdiv_proto::v1::Machine;
use toml::{Table, Value};

use crate::{identity, interfaces::is_bare_id};

#[cfg(test)]
mod tests;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct SupplyError {
    path: String,
    why: String,
}

/// Who a machine is, and what its routes are, is only believed when it is measured.
const MEASURED: [&str; 7] =
    ["host_name", "machine_id", "boot_id", "routes", "settings", "settings_sha256", "supplied"];

/// All other fields.
const STATED: [&str; 19] = [
    "accelerator_count",
    "accelerators",
    "bios_version",
    "board_serial",
    "container_image",
    "cpu_caches",
    "cpu_cores_per_socket",
    "cpu_max_mhz",
    "cpu_model",
    "cpu_sockets",
    "cpu_threads",
    "framework",
    "interfaces",
    "kernel",
    "memory_bytes",
    "memory_ecc",
    "operating_system",
    "product",
    "program",
];

/// Whether a file can be read, its keys are known and its values are of their types. Whether it contradicts what is
/// measured, only [`supply`] tells.
pub fn check(path: &Path) -> Result<(), SupplyError> {
    read(path).map(drop).map_err(|why| SupplyError { path: path.display().to_string(), why })
}

/// Sets the fields that the file states, and notes them in `supplied`. What was measured stays where it says the same;
/// another value than the measured one is an error, and then nothing is set. Two things measured are weak enough to be
/// replaced: a model that is but ids, and the kind `virtual`.
pub fn supply(machine: &mut Machine, path: &Path) -> Result<(), SupplyError> {
    let joined = read(path).and_then(|stated| join(machine, stated));
    *machine = joined.map_err(|why| SupplyError { path: path.display().to_string(), why })?;
    Ok(())
}

fn read(path: &Path) -> Result<Table, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let mut stated: Table = toml::from_str(&text).map_err(|e| e.to_string())?;
    let wrong =
        stated.keys().filter(|key| !STATED.contains(&key.as_str())).map(|key| {
            match MEASURED.contains(&key.as_str()) {
                true => format!("`{key}` is measured, and cannot be stated"),
                false => format!("unknown field `{key}`; there are `{}`", STATED.join("`, `")),
            }
        });
    none(wrong.collect())?;
    let machine: Machine = toml::from_str(&text).map_err(|e| e.to_string())?;
    let mut names = machine.interfaces.iter().map(|i| &i.name);
    let mut wrong = Vec::new();
    if names.any(String::is_empty) || machine.accelerators.iter().any(|a| a.name.is_empty()) {
        wrong.push("every interface and accelerator needs its `name`".to_owned());
    }
    if let Some(serial) = &machine.board_serial {
        match identity::board_serial(serial) {
            Some(digest) => drop(stated.insert("board_serial".into(), digest.into())),
            None => {
                wrong.push(format!("`board_serial` {serial:?} is no serial number; leave it out"))
            }
        }
    }
    none(wrong).map(|()| stated)
}

fn none(problems: Vec<String>) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// The machine with what is stated of it.
fn join(machine: &Machine, stated: Table) -> Result<Machine, String> {
    let mut known = Table::try_from(machine).map_err(|e| e.to_string())?;
    let mut joining = Joining::default();
    let are_all = |key: &str| match key {
        "interfaces" => !machine.interfaces.is_empty(),
        _ => machine.accelerator_count.is_some(),
    };
    let lists_accelerators = stated.contains_key("accelerators");
    for (key, value) in stated {
        match (known.remove(&key), value) {
            (Some(Value::Array(measured)), Value::Array(stated)) => {
                let list = joining.list(&key, measured, stated, are_all(&key));
                known.insert(key, list.into());
            }
            (measured, value) => {
                known.extend(measured.map(|measured| (key.clone(), measured)));
                joining.set(&mut known, &key, value, key.clone());
            }
        }
    }
    none(joining.problems)?;
    let mut machine: Machine = known.try_into().map_err(|e: toml::de::Error| e.to_string())?;
    machine.supplied.extend(joining.supplied);
    let listed = u32::try_from(machine.accelerators.len()).map_err(|e| e.to_string())?;
    if lists_accelerators && machine.accelerator_count.is_none() {
        machine.accelerator_count = Some(listed);
        machine.supplied.push("accelerator_count".into());
    }
    match machine.accelerator_count {
        Some(count) if listed > 0 && count != listed => {
            Err(format!("`accelerator_count` is {count}, but {listed} are described"))
        }
        _ => Ok(machine),
    }
}

#[derive(Default)]
struct Joining {
    /// What was not measured, such as `memory_ecc` or `interfaces.eth2.model`.
    supplied: Vec<String>,
    problems: Vec<String>,
}

impl Joining {
    /// Adds what is stated of interfaces or accelerators to what was measured of them; they are told apart by their
    /// names, and accelerators of one name by their order. Where the measured ones are all, there are no others.
    fn list(
        &mut self,
        key: &str,
        measured: Vec<Value>,
        stated: Vec<Value>,
        are_all: bool,
    ) -> Vec<Value> {
        let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
        let names: Vec<_> = measured.iter().filter_map(name).collect();
        let mut open: Vec<_> = measured.into_iter().map(|value| (value, false)).collect();
        for stated in stated {
            let (Some(name), Value::Table(fields)) = (name(&stated), stated) else { continue };
            let same = |(value, taken): &(Value, bool)| {
                !taken && value.get("name").and_then(Value::as_str) == Some(&name)
            };
            let place = open.iter().position(same).unwrap_or_else(|| {
                if are_all {
                    let (another, there) = match names.contains(&name) {
                        true => ("further ", names.join(", ")),
                        false if names.is_empty() => ("", "none".into()),
                        false => ("", names.join(", ")),
                    };
                    let text =
                        format!("`{key}`: there is no {another}`{name}`; there are: {there}");
                    self.problems.push(text);
                }
                let new = Table::from_iter([("name".to_owned(), name.as_str().into())]);
                open.push((new.into(), false));
                open.len() - 1
            });
            let Some((Value::Table(known), taken)) = open.get_mut(place) else { continue };
            *taken = true;
            for (field, value) in fields {
                self.set(known, &field, value, format!("{key}.{name}.{field}"));
            }
        }
        open.into_iter().map(|(value, _)| value).collect()
    }

    fn set(&mut self, known: &mut Table, field: &str, value: Value, path: String) {
        match known.get(field) {
            Some(measured) if *measured == value => return,
            Some(measured) if !is_weak(field, measured) => {
                let text = match field {
                    // It is a digest, which says nothing to anybody.
                    "board_serial" => "is another one than was measured".into(),
                    _ => format!("is {value} here, but measured as {measured}"),
                };
                return self.problems.push(format!("`{path}` {text}"));
            }
            _ => {}
        }
        known.insert(field.into(), value);
        if !self.supplied.contains(&path) {
            self.supplied.push(path);
        }
    }
}

/// Whether something that was measured of an interface says so little that an operator knows better.
fn is_weak(field: &str, measured: &Value) -> bool {
    match (field, measured.as_str()) {
        ("kind", Some(kind)) => kind == "virtual",
        ("model", Some(model)) => is_bare_id(model),
        _ => false,
    }
}
