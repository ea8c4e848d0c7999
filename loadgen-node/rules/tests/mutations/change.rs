//! Edits of a submission as data: one file for each rule, `n01.toml` to `n38.toml`.

use std::{collections::BTreeMap, fs};

use netdiv_rules::record::RunResult;
use serde::Deserialize;
use serde_json::Value;

use super::tree::Tree;

/// The edits of a rule's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edits {
    pub(super) edit: Vec<Edit>,
}

/// An edit, and all that must be found then.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) name: String,
    /// The valid submission that is edited.
    #[serde(default)]
    pub(super) tree: Valid,
    /// At most two lines tell people of it, where all are one cause.
    #[serde(default)]
    pub(super) one_cause: bool,
    pub(super) change: Vec<Change>,
    /// The broken rules but N38, each with a finding's text: `N33 the verdict is INVALID`.
    pub(super) finds: Vec<String>,
}

impl Edit {
    /// Returns a new tree with all changes made.
    pub(super) fn made(&self) -> Tree {
        let tree = self.tree.tree();
        self.change.iter().for_each(|change| change.make(&tree));
        tree
    }
}

/// A valid submission of the Network division.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Valid {
    /// ResNet50 in round v5.0.
    #[default]
    Images,
    /// A language model in round v5.0.
    Llama,
    /// A language model and its interactive variant in round v5.1.
    Chat,
}

impl Valid {
    pub(super) fn tree(self) -> Tree {
        match self {
            Self::Images => Tree::new(),
            Self::Llama => Tree::of_llama(),
            Self::Chat => Tree::of_chat(),
        }
    }
}

/// Values by JSON pointer.
type Values = BTreeMap<String, Value>;

/// A step of an edit.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Change {
    /// The record of a run, such as `Server/accuracy`, and what `submission` copies of it.
    Record {
        record: String,
        #[serde(default)]
        set: Values,
        #[serde(default)]
        remove: Vec<String>,
    },
    /// All records whose path has this text, and what the documentation shows of the machines.
    Records {
        records: String,
        #[serde(default)]
        set: Values,
        #[serde(default)]
        remove: Vec<String>,
    },
    /// A setting that the LoadGen node was given in a run, with its digests.
    Given { given: String, key: String, value: Value },
    /// Fields of the system's description.
    System { system: BTreeMap<String, Value> },
    /// A JSON file.
    Json {
        json: String,
        #[serde(default)]
        set: Values,
        #[serde(default)]
        remove: Vec<String>,
    },
    /// An entry of a run's detail log, and the summary's line of that name.
    Entry {
        entry: String,
        run: String,
        value: String,
        #[serde(default)]
        summary: String,
    },
    /// A log of a run, and its hash in the record.
    Log { log: String, run: String, replace: [String; 2] },
    /// A text in a file.
    Replace { file: String, replace: [String; 2] },
    /// A whole file.
    Write { file: String, text: String },
    /// A file in the place of another.
    Copy { copy: [String; 2] },
    /// The digest of sources as they are then, in their REVISION and in all records.
    Seal { seal: String },
    /// A file or a folder that goes.
    Delete { delete: String },
    /// A file or a folder that goes elsewhere.
    Rename { rename: [String; 2] },
}

impl Change {
    pub(super) fn make(&self, tree: &Tree) {
        match self {
            Self::Record { record: run, set, remove } => {
                tree.record(run, |record| edit_record(record, set, remove));
            }
            Self::Records { records, set, remove } => {
                tree.records(records, |record| edit_record(record, set, remove));
            }
            Self::Given { given: run, key, value } => tree.given(run, key, value.clone()),
            Self::System { system } => {
                system.iter().for_each(|(name, value)| tree.field(name, value.clone()));
            }
            Self::Json { json, set, remove } => tree.json(json, |file| {
                edit(file, set, remove);
                true
            }),
            Self::Entry { entry, run, value, summary } => tree.entry(run, entry, value, summary),
            Self::Log { log, run, replace: [from, to] } => {
                tree.log(run, log, |text| replaced(&text, from, to));
            }
            Self::Replace { file, replace: [from, to] } => tree.replace(file, from, to),
            Self::Write { file, text } => tree.write(file, text),
            Self::Copy { copy: [from, to] } => tree.write(to, &tree.read(from)),
            Self::Seal { seal } => {
                let digest = tree.digest_of_sources(seal);
                tree.write(&format!("{seal}/REVISION"), &digest);
                tree.records("", |record| record.versions.sources_sha256.clone_from(&digest));
            }
            Self::Delete { delete } => tree.remove(delete),
            Self::Rename { rename: [from, to] } => {
                let to = tree.path(to);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::rename(tree.path(from), to).unwrap();
            }
        }
    }
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "there is no {from}");
    text.replace(from, to)
}

fn edit_record(record: &mut RunResult, set: &Values, remove: &[String]) {
    let mut value = serde_json::to_value(&*record).unwrap();
    edit(&mut value, set, remove);
    *record = serde_json::from_value(value).unwrap();
}

/// Sets values, in new fields if need be, and removes others.
fn edit(value: &mut Value, set: &Values, remove: &[String]) {
    for (pointer, new) in set {
        let (parent, name) = parent_of(value, pointer);
        match parent {
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = new.clone(),
            Value::Object(fields) => drop(fields.insert(name, new.clone())),
            other => panic!("the parent of {pointer} is {other}"),
        }
    }
    for pointer in remove {
        let (parent, name) = parent_of(value, pointer);
        let fields = parent.as_object_mut().unwrap();
        assert!(fields.remove(&name).is_some(), "missing: {pointer}");
    }
}

/// Returns the array or object that a JSON pointer leads into, and the name of the field there.
fn parent_of<'a>(value: &'a mut Value, pointer: &str) -> (&'a mut Value, String) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = value.pointer_mut(parent).unwrap_or_else(|| panic!("missing: {parent}"));
    (parent, name.replace("~1", "/").replace("~0", "~"))
}
