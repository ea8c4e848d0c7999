//! Table of the keys in the evidence about machines (`stated.toml`): for each key, the statement
//! that `check` compares it with. Records, LoadGen's logs and descriptions have no table: `check`
//! makes them again and compares them as a whole.
//!
//! A cheat edits one statement and forgets another. So the table must state the comparison for each
//! key that a new program writes: tests fail on a key that the table lacks, and on a key that an
//! edit can change without a finding.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    sync::LazyLock,
};

use netdiv_rules::tree::list_files;
use serde::Deserialize;
use serde_json::Value;

/// Keys of the evidence by the kind of comparison. Each map has a text by key; `*` at the end of a
/// key matches any text.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedKeys {
    /// Keys whose value another statement repeats or bounds.
    compared: BTreeMap<String, String>,
    /// Keys whose value every run states, and nothing else does.
    runs: BTreeMap<String, String>,
    /// Keys whose value no other statement contains; the text gives the reason.
    once: BTreeMap<String, String>,
}

/// Table of all keys; empty, so that every key is missing, if it cannot be read.
static TABLE: LazyLock<StatedKeys> =
    LazyLock::new(|| toml::from_str(include_str!("stated.toml")).unwrap_or_default());

/// Returns true if a check is expected to find an edit of the key in all files at once.
pub(crate) fn is_compared(key: &str) -> bool {
    is_in(&TABLE.compared, key)
}

fn is_in(keys: &BTreeMap<String, String>, key: &str) -> bool {
    keys.keys().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => pattern == key,
    })
}

/// Lists the keys of the evidence in a submission that the table lacks.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub(crate) fn unclassified(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut missing = BTreeSet::new();
    for path in list_files(root)? {
        let is_evidence = |path: &str| {
            path.contains("/documentation/evidence/")
                && path.ends_with(".json")
                // The program's sources contain test runs, which are not runs of the submission.
                && !matches!(path.split('/').nth(2), Some("code" | "src"))
        };
        if path.to_str().is_some_and(is_evidence) {
            let value = serde_json::from_str(&fs::read_to_string(root.join(&path))?)?;
            let is_known = |key: &str| {
                [&TABLE.compared, &TABLE.runs, &TABLE.once].iter().any(|keys| is_in(keys, key))
            };
            missing.extend(keys(&value).into_keys().filter(|key| !is_known(key)));
        }
    }
    Ok(missing)
}

/// Lists the keys of all values in a JSON document, such as `interfaces[].name`, each with the
/// pointer to its first value.
pub(crate) fn keys(value: &Value) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    leaves(value, "", "", &mut keys);
    keys
}

/// Collects the keys in a value, which is at this key and pointer.
fn leaves(value: &Value, key: &str, pointer: &str, keys: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                leaves(value, &key, &format!("{pointer}/{name}"), keys);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (place, item) in items.iter().enumerate() {
                leaves(item, &format!("{key}[]"), &format!("{pointer}/{place}"), keys);
            }
        }
        _ => {
            keys.entry(key.to_owned()).or_insert_with(|| pointer.to_owned());
        }
    }
}
