//! Table of the keys in the files that describe a submission (`stated.toml`): for each key, the
//! statement that `check` compares it with. A statement is a value in a file that states a fact
//! about a run. Records and LoadGen's logs have no table: `check` compares them as a whole.
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

/// Kind of file that states facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FactFile {
    /// Evidence about a machine; the records contain it, too.
    Evidence,
    /// A system description.
    System,
    /// A measurements file.
    Measurements,
}

/// Keys of one kind of file, grouped by the kind of comparison. Each map has a text by key; `*` in
/// a key matches any text.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KeyClass {
    /// Keys whose value another statement repeats or bounds.
    pub(crate) compared: BTreeMap<String, String>,
    /// Keys whose value every run states, and nothing else does.
    pub(crate) runs: BTreeMap<String, String>,
    /// Keys whose value no other statement contains; the text gives the reason.
    pub(crate) once: BTreeMap<String, String>,
}

/// Table of all keys; empty, so that every key is missing, if it cannot be read.
static TABLE: LazyLock<BTreeMap<FactFile, KeyClass>> =
    LazyLock::new(|| toml::from_str(include_str!("stated.toml")).unwrap_or_default());

impl FactFile {
    /// Returns the kind of a file of a submission or of a run's folder.
    fn of(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // The program's sources contain test runs, which are not runs of the submission.
        if matches!(folder.split('/').nth(2), Some("code" | "src")) {
            return None;
        }
        let is_json = name.ends_with(".json");
        match name {
            "measurements.json" => Some(Self::Measurements),
            _ if is_json && name.contains("_netdiv_") => Some(Self::Measurements),
            _ if is_json && folder.ends_with("documentation/evidence") => Some(Self::Evidence),
            _ if is_json && folder.ends_with("systems") => Some(Self::System),
            _ => None,
        }
    }

    /// Returns true if the table has the key.
    fn has(self, key: &str) -> bool {
        let Some(class) = TABLE.get(&self) else { return false };
        [&class.compared, &class.runs, &class.once]
            .into_iter()
            .flat_map(BTreeMap::keys)
            .any(|pattern| matches(pattern, key))
    }

    /// Lists the keys of a JSON document.
    pub(crate) fn keys(text: &str) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        if let Ok(value) = serde_json::from_str(text) {
            leaves(&value, "", &mut keys);
        }
        keys
    }

    /// Returns true if a check is expected to find an edit of the key in all files at once.
    pub(crate) fn is_held(self, key: &str) -> bool {
        let class = &TABLE[&self];
        !class.once.keys().chain(class.runs.keys()).any(|pattern| matches(pattern, key))
    }
}

/// Lists the keys that the table lacks in the files of a submission or of a run's folder, each with
/// its kind of file.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub(crate) fn unclassified(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut missing = BTreeSet::new();
    for path in list_files(root)? {
        let Some(source) = path.to_str().and_then(FactFile::of) else { continue };
        let text = fs::read_to_string(root.join(&path))?;
        for key in FactFile::keys(&text) {
            if !source.has(&key) {
                missing.insert(format!("{source:?}: {key}"));
            }
        }
    }
    Ok(missing)
}

/// Collects the paths of all values in a JSON document, such as `interfaces[].name`, in `keys`.
/// `path` is the path of `value`.
fn leaves(value: &Value, path: &str, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                leaves(value, &join(path, name), keys);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                leaves(item, &format!("{path}[]"), keys);
            }
        }
        _ => {
            keys.insert(path.into());
        }
    }
}

/// Appends a field's name to a path.
pub(crate) fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.into(),
        _ => format!("{path}.{name}"),
    }
}

/// Returns true if a text matches a pattern, in which `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
