//! Fields of `Machine` that an operator states in a TOML file.

use std::path::Path;

use netdiv_contract::v1::Machine;
use toml::{Table, Value};

use crate::evidence::{identity, interfaces::is_bare_id};

#[cfg(test)]
mod tests;

/// Error of a file in which an operator states fields.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct SupplyError {
    path: String,
    why: String,
}

/// Fields that must be measured: identity, routes and settings of a machine. An operator can state
/// all others.
const MEASURED: [&str; 9] = [
    "host_name",
    "machine_id",
    "boot_id",
    "virtual_machine",
    "routes",
    "serving_engines",
    "settings",
    "settings_sha256",
    "supplied",
];

/// Fields that an operator states about a machine.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Path of the file, for errors.
    path: String,
    stated: Table,
}

impl Statement {
    /// Reads the file. Fails if a key is unknown or a value has the wrong type.
    /// [`Statement::supply`] detects contradictions with measured values.
    pub fn read(path: &Path) -> Result<Self, SupplyError> {
        let path_text = path.display().to_string();
        match read(path) {
            Ok(stated) => Ok(Self { path: path_text, stated }),
            Err(why) => Err(SupplyError { path: path_text, why }),
        }
    }

    /// Sets the fields that the file states, and lists them in `supplied`. Fails, and sets nothing,
    /// if a stated value differs from a measured one. It may replace two kinds of measured values:
    /// a model that consists only of ids, and the kind `virtual`.
    pub fn supply(&self, machine: &mut Machine) -> Result<(), SupplyError> {
        *machine = join(machine, self.stated.clone())
            .map_err(|why| SupplyError { path: self.path.clone(), why })?;
        Ok(())
    }
}

fn read(path: &Path) -> Result<Table, String> {
    let text = netdiv_node_common::resources::files::read_toml(path).map_err(|e| e.to_string())?;
    let mut stated: Table = toml::from_str(&text).map_err(|e| e.to_string())?;
    let measured = stated.keys().filter(|key| MEASURED.contains(&key.as_str()));
    fail_if_any(measured.map(|key| format!("`{key}` is measured and cannot be stated")).collect())?;
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
                wrong.push(format!("`board_serial` {serial:?} is not a serial number; omit it"))
            }
        }
    }
    fail_if_any(wrong).map(|()| stated)
}

fn fail_if_any(problems: Vec<String>) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// Returns the measured machine with the stated fields added.
fn join(machine: &Machine, stated: Table) -> Result<Machine, String> {
    let mut known = Table::try_from(machine).map_err(|e| e.to_string())?;
    let mut joining = FieldMerge::default();
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
    fail_if_any(joining.problems)?;
    let mut machine: Machine = known.try_into().map_err(|e: toml::de::Error| e.to_string())?;
    machine.supplied.extend(joining.supplied);
    let listed = u32::try_from(machine.accelerators.len()).map_err(|e| e.to_string())?;
    if lists_accelerators && machine.accelerator_count.is_none() {
        machine.accelerator_count = Some(listed);
        machine.supplied.push("accelerator_count".into());
    }
    match machine.accelerator_count {
        Some(count) if listed > 0 && count != listed => Err(format!(
            "`accelerator_count` is {count}; expected {listed}, as many as are described"
        )),
        _ => Ok(machine),
    }
}

#[derive(Default)]
struct FieldMerge {
    /// Fields that were not measured, such as `memory_ecc` or `interfaces.eth2.model`.
    supplied: Vec<String>,
    problems: Vec<String>,
}

impl FieldMerge {
    /// Joins stated and measured interfaces or accelerators. Names identify them; accelerators with
    /// equal names are matched in order. If `are_all` is true, all were measured, and the file
    /// cannot add any.
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
                    let another = if names.contains(&name) { "further " } else { "" };
                    let there = if names.is_empty() { "none".into() } else { names.join(", ") };
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
                    // The value is a digest, which means nothing to the reader.
                    "board_serial" => "differs from the measured one".into(),
                    _ => format!("is stated as {value}, but measured as {measured}"),
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

/// Returns true if a measured value of an interface has so little information that an operator may
/// replace it.
fn is_weak(field: &str, measured: &Value) -> bool {
    match (field, measured.as_str()) {
        ("kind", Some(kind)) => kind == "virtual",
        ("model", Some(model)) => is_bare_id(model),
        _ => false,
    }
}
