//! What an operator states about a machine, in a TOML file whose keys are the fields of `Machine`.

use std::path::Path;

use netdiv_proto::v1::Machine;

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

/// Sets the fields that the file states, and notes their names. What was measured stays where it says the same; another
/// value than the measured one is an error.
pub fn supply(machine: &mut Machine, path: &Path) -> Result<(), SupplyError> {
    let error = |why: String| SupplyError { path: path.display().to_string(), why };
    let text = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
    let stated: toml::Table = toml::from_str(&text).map_err(|e| error(e.to_string()))?;
    // Wrong keys and types are found before anything is changed.
    toml::from_str::<Machine>(&text).map_err(|e| error(e.to_string()))?;
    let mut known = toml::Table::try_from(&*machine).map_err(|e| error(e.to_string()))?;
    let mut supplied = Vec::new();
    for (key, value) in stated {
        if MEASURED.contains(&key.as_str()) {
            return Err(error(format!("`{key}` is measured, and cannot be stated")));
        }
        match known.get(&key) {
            Some(measured) if *measured == value => continue,
            Some(toml::Value::Array(nothing)) if nothing.is_empty() => {}
            Some(measured) if key != "interfaces" && key != "accelerators" => {
                return Err(error(format!("`{key}` is {value} here, but measured as {measured}")));
            }
            _ => {}
        }
        let value = match (known.remove(&key), value) {
            (Some(toml::Value::Array(measured)), toml::Value::Array(stated)) => {
                toml::Value::Array(join(measured, stated, &key).map_err(error)?)
            }
            (_, value) => value,
        };
        known.insert(key.clone(), value);
        supplied.push(key);
    }
    *machine = known.try_into().map_err(|e: toml::de::Error| error(e.to_string()))?;
    machine.supplied.extend(supplied);
    Ok(())
}

/// Adds what is stated of an interface or accelerator to what was measured of it; they are told apart by their names, and
/// accelerators of one name by their order.
fn join(
    measured: Vec<toml::Value>,
    stated: Vec<toml::Value>,
    key: &str,
) -> Result<Vec<toml::Value>, String> {
    let mut open: Vec<_> = stated.into_iter().map(Some).collect();
    let mut joined = Vec::new();
    for mut known in measured {
        let same = |value: &toml::Value| value.get("name") == known.get("name");
        let found = open.iter_mut().find(|place| place.as_ref().is_some_and(same));
        if let (Some(table), Some(toml::Value::Table(more))) =
            (known.as_table_mut(), found.and_then(Option::take))
        {
            for (field, value) in more {
                match table.get(&field) {
                    Some(measured) if *measured != value => {
                        let name = table.get("name").map(ToString::to_string).unwrap_or_default();
                        return Err(format!(
                            "`{key}` {name}: `{field}` is {value} here, but measured as {measured}"
                        ));
                    }
                    _ => drop(table.insert(field, value)),
                }
            }
        }
        joined.push(known);
    }
    joined.extend(open.into_iter().flatten());
    Ok(joined)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use netdiv_proto::v1::Interface;

    use super::*;

    fn stated(text: &str) -> Result<Machine, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let eth0 = Interface { name: "eth0".into(), kind: "ethernet".into(), ..Default::default() };
        let mut machine = Machine {
            machine_id: Some("m".into()),
            kernel: Some("Linux 6".into()),
            interfaces: vec![eth0],
            ..Machine::default()
        };
        supply(&mut machine, file.path()).map_err(|error| error.to_string()).map(|()| machine)
    }

    #[test]
    fn what_was_not_measured_can_be_stated() {
        let machine = stated(
            "memory_ecc = true\nkernel = 'Linux 6'\n[[interfaces]]\nname = 'eth0'\nmodel = 'X'\n",
        )
        .unwrap();
        assert_eq!(machine.memory_ecc, Some(true));
        assert_eq!(machine.supplied, ["interfaces", "memory_ecc"]);
        let [eth0] = &machine.interfaces[..] else { unreachable!() };
        assert_eq!((eth0.kind.as_str(), eth0.model.as_deref()), ("ethernet", Some("X")));
    }

    #[test]
    fn what_was_measured_cannot_be_contradicted() {
        for (text, want) in [
            ("machine_id = 'other'", "`machine_id` is measured"),
            ("kernel = 'Linux 7'", "measured as \"Linux 6\""),
            ("[[interfaces]]\nname = 'eth0'\nkind = 'infiniband'", "measured as \"ethernet\""),
            ("memory_ecc = 'yes'", "expected a boolean"),
            ("colour = 'blue'", "unknown field `colour`"),
        ] {
            let error = stated(text).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }
}
