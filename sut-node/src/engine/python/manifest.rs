//! Manifest of an engine in Python: a TOML file beside the engine's file, with facts that the class
//! does not state.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::resources::companion::companion;
use netdiv_plugin::Precision;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    model::{
        batching::BatchingArgs,
        manifest::{BatchingTables, ModelFile, precision},
    },
    worker::declaration::Declaration,
};

/// Manifest of an engine in Python, after its values were checked.
#[derive(Debug, Clone, Serialize)]
pub struct PythonManifest {
    /// Path of the file.
    #[serde(skip)]
    pub path: PathBuf,
    /// Element type of the weights, as the manifest states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<&'static str>,
    /// Origin of the weights, as the manifest states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Encodings of samples that the node accepts; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encodings: Option<Vec<Encoding>>,
    /// Settings of the batcher.
    #[serde(skip)]
    pub batching: BatchingTables,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestKeys {
    #[serde(default, deserialize_with = "some_precision")]
    precision: Option<Precision>,
    weights: Option<String>,
    encodings: Option<Vec<Encoding>>,
    #[serde(default)]
    batching: BTreeMap<String, toml::Table>,
}

fn some_precision<'de, D: Deserializer<'de>>(word: D) -> Result<Option<Precision>, D::Error> {
    precision(word).map(Some)
}

/// Returns the path of an engine's manifest, which it may have: `NAME.toml` beside `NAME.py`.
pub(super) fn manifest_path(file: &Path) -> PathBuf {
    file.with_extension("toml")
}

impl PythonManifest {
    /// Reads the manifest beside an engine's file, or beside the file that a link leads to. Returns
    /// `None` if there is no manifest.
    pub(crate) fn read(file: &Path, declaration: &Declaration) -> anyhow::Result<Option<Self>> {
        let named = manifest_path(file);
        let is_there = named.symlink_metadata().is_ok();
        let found = companion(file, manifest_path)
            .map_err(|error| anyhow::anyhow!("{}: {error}", named.display()))?;
        // The reader reports a link that leads nowhere.
        let Some(path) = found.or(is_there.then_some(named)) else { return Ok(None) };
        let file = file.display();
        let kind = format!(
            "it is read as the manifest of {file} (docs/ENGINES.md#your-engine-in-python): "
        );
        let checked =
            |keys| Self::checked(&path, keys, declaration).map_err(|why| format!("{kind}{why}"));
        ModelFile::read(&path)?.parse(&kind, checked).map(Some)
    }

    fn checked(
        path: &Path,
        ManifestKeys { precision, weights, encodings, batching }: ManifestKeys,
        declaration: &Declaration,
    ) -> Result<Self, String> {
        if encodings.as_ref().is_some_and(Vec::is_empty) {
            return Err("encodings must not be empty".into());
        }
        let batching = BatchingTables::read(batching)?;
        check("default", &batching.default, declaration)?;
        for (scenario, table) in &batching.scenarios {
            check(scenario.word(), table, declaration)?;
        }
        let precision = precision.map(Precision::name);
        Ok(Self { path: path.into(), precision, weights, encodings, batching })
    }
}

/// Fails if the class does not support a table of batch settings, whose name is `table`.
fn check(table: &str, batching: &BatchingArgs, declaration: &Declaration) -> Result<(), String> {
    let most = declaration.max_batch;
    let why = if let Some(asked) = batching.max_batch.filter(|asked| *asked > most) {
        format!("max_batch = {asked} is more than max_batch = {most} of the class")
    } else if batching.max_batch_tokens.is_some()
        || batching.buckets.is_some()
        || batching.batch_sizes.is_some()
    {
        "max_batch_tokens, buckets and batch_sizes are for torch and plug-ins; remove them".into()
    } else if batching.batch_timeout.is_some() && declaration.is_language_model() {
        "batch_timeout is for `infer`; requests of `generate` do not wait for others; remove it"
            .into()
    } else {
        return Ok(());
    };
    Err(format!("[batching.{table}]: {why}"))
}
