//! Edits of a submission as data: one file for each rule, `n01.toml` to `n38.toml`.

use std::{collections::BTreeMap, fs};

use netdiv_rules::Rule;
use serde::Deserialize;
use serde_json::Value;

use super::{
    fixture::edits::{Values, edit, edit_record},
    tree::EditableTree,
};

/// Contents of a rule's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edits {
    pub(super) edit: Vec<Edit>,
}

/// Edit of a valid submission, with all findings that the edit must cause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) name: String,
    /// Valid submission to edit.
    #[serde(default)]
    pub(super) tree: ValidTree,
    /// Requires a report of at most two lines, because all findings have one cause.
    #[serde(default)]
    pub(super) one_cause: bool,
    pub(super) change: Vec<Change>,
    /// Findings that break a rule other than N38, each as its rule and its text: `N33 the verdict
    /// is INVALID`. Absent in `harmless/edits.toml` only.
    #[serde(default)]
    pub(super) finds: Vec<String>,
    /// Rules that cannot be judged after an edit that breaks none.
    #[serde(default)]
    pub(super) cannot_tell: Vec<Rule>,
}

impl Edit {
    /// Creates the valid submission, and makes all changes to it.
    pub(super) fn made(&self) -> EditableTree {
        let tree = self.tree.tree();
        self.change.iter().for_each(|change| change.make(&tree));
        tree
    }
}

/// Valid submission of the Network division.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ValidTree {
    /// ResNet50 in round v5.0.
    #[default]
    Images,
    /// A language model in round v5.0.
    Llama,
    /// A language model and its interactive variant in round v5.1.
    Chat,
    /// 3D UNet in round v6.1.
    Volumes,
}

impl ValidTree {
    pub(super) fn tree(self) -> EditableTree {
        match self {
            Self::Images => EditableTree::new(),
            Self::Llama => EditableTree::of_llama(),
            Self::Chat => EditableTree::of_chat(),
            Self::Volumes => EditableTree::of("network", "v6.1"),
        }
    }
}

/// Step of an edit: a change of the tree's files.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Change {
    /// Changes the record of a run, such as `Server/accuracy`.
    Record {
        record: String,
        #[serde(default)]
        set: Values,
        #[serde(default)]
        remove: Vec<String>,
    },
    /// Changes all records whose path contains a text.
    Records {
        records: String,
        #[serde(default)]
        set: Values,
        #[serde(default)]
        remove: Vec<String>,
    },
    /// Changes a setting of the LoadGen node in the record of a run, and the copy and SHA-256 of
    /// the settings in its evidence.
    Given { given: String, key: String, value: Value },
    /// Changes fields of the system's description.
    System { system: BTreeMap<String, Value> },
    /// Changes a JSON file.
    Json {
        json: String,
        #[serde(default)]
        set: Values,
        #[serde(default)]
        remove: Vec<String>,
    },
    /// Changes an entry of a run's detail log, and the line of that name in the summary.
    Entry {
        entry: String,
        run: String,
        value: String,
        #[serde(default)]
        summary: String,
    },
    /// Changes a log of a run, and its hash in the record.
    Log { log: String, run: String, replace: [String; 2] },
    /// Replaces a text in a file.
    Replace { file: String, replace: [String; 2] },
    /// Writes a whole file.
    Write { file: String, text: String },
    /// Copies a file over another one.
    Copy { copy: [String; 2] },
    /// Computes the digest of the sources, and writes it to their REVISION and to all records.
    Seal { seal: String },
    /// Deletes a file or a folder.
    Delete { delete: String },
    /// Moves a file or a folder.
    Rename { rename: [String; 2] },
}

impl Change {
    pub(super) fn make(&self, tree: &EditableTree) {
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
            Self::Json { json, set, remove } => tree.json(json, |file| edit(file, set, remove)),
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
