//! Settings of the engine `python`, which runs a user's class in a worker process.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use netdiv_contract::encoding::Encoding;
use netdiv_plugin::Precision;
use serde::{Deserialize, Serialize};

use crate::{
    model::{
        batching::BatchingArgs,
        manifest::{BatchingTables, Manifest, ManifestError, WorkloadName, precision_name},
    },
    settings::error::ConfigError,
    worker::{
        declaration::{Declaration, DeclaredModel},
        start::declare,
    },
};

/// Keys of the engine `python`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Python (engines: python)")]
pub struct PythonArgs {
    /// Interpreter, such as bin/python of a virtual environment [default: python3]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
}

/// Settings of the engine `python`.
#[derive(Debug, Clone, Serialize)]
pub struct PythonConfig {
    /// File with the engine's class.
    #[serde(skip)]
    pub file: PathBuf,
    /// Interpreter.
    #[serde(skip)]
    pub python: PathBuf,
    /// Maximum time to load the engine.
    #[serde(skip)]
    pub start_timeout: Duration,
    /// Number of threads of an instance.
    pub threads: usize,
    /// Model that the engine runs.
    pub model: PythonModel,
}

/// Description of the model of an engine in Python.
#[derive(Debug, Clone, Serialize)]
pub struct PythonModel {
    /// Declaration of the engine, from the attributes of its class.
    #[serde(flatten)]
    pub declaration: Declaration,
    /// Facts from the manifest beside the engine's file; `None` without a manifest.
    #[serde(flatten)]
    pub manifest: Option<PythonManifest>,
}

/// Facts about an engine in Python that its class does not state.
#[derive(Debug, Clone, Serialize)]
pub struct PythonManifest {
    /// Element type of the weights.
    #[serde(serialize_with = "precision_name")]
    pub precision: Precision,
    /// Origin of the weights.
    pub weights: String,
    /// Encodings of samples that the node accepts.
    pub encodings: Vec<Encoding>,
    /// Settings of the batcher.
    #[serde(skip)]
    pub batching: BatchingTables,
}

/// Returns the path of the manifest that an engine in Python may have: `FILE.toml` beside
/// `FILE.py`.
pub(super) fn manifest_path(file: &Path) -> PathBuf {
    file.with_extension("toml")
}

impl PythonArgs {
    /// Asks the engine's file for its declaration, and reads the manifest beside it. Fails with the
    /// file, the line and the fix.
    pub(super) fn resolve(
        &self,
        file: &Path,
        threads: usize,
        start_timeout: Duration,
    ) -> Result<PythonConfig, ConfigError> {
        let python = self.python.clone().unwrap_or_else(|| "python3".into());
        let declaration = declare(&python, file).map_err(ConfigError::Python)?;
        let path = manifest_path(file);
        let manifest = path.symlink_metadata().is_ok().then(|| -> Result<_, ManifestError> {
            let manifest = Manifest::read(&path)?;
            compare(&manifest, &declaration, file).map_err(|why| ManifestError { path, why })?;
            let Manifest { precision, weights, encodings, batching, .. } = manifest;
            Ok(PythonManifest { precision, weights, encodings, batching })
        });
        let model = PythonModel { declaration, manifest: manifest.transpose()? };
        Ok(PythonConfig { file: file.to_path_buf(), python, start_timeout, threads, model })
    }
}

/// Compares a manifest with the class beside it. Returns the first difference, with its fix.
fn compare(manifest: &Manifest, declaration: &Declaration, file: &Path) -> Result<(), String> {
    let (path, file) = (file, file.display());
    let DeclaredModel::Tensors(tensors) = &declaration.model else {
        return Err(format!("a manifest describes tensors, but {file} has `generate`; remove it"));
    };
    if manifest.model.canonicalize().ok() != path.canonicalize().ok() {
        return Err(format!("its model is {}; expected {file}", manifest.model.display()));
    }
    if manifest.workload != WorkloadName::Tensors || !manifest.parameters.is_empty() {
        return Err("an engine in Python prepares its samples itself; write workload = \"tensors\", without [parameters]".into());
    }
    if manifest.name != tensors.name {
        return Err(format!(
            "its name is {:?}; {file} has name = {:?}",
            manifest.name, tensors.name
        ));
    }
    if manifest.inputs != tensors.inputs || manifest.outputs != [tensors.output.clone()] {
        return Err(format!("its inputs and outputs differ from those of {file}"));
    }
    Ok(())
}

impl PythonConfig {
    /// Returns the maximum number of tokens of an output; `None` if outputs are not tokens.
    pub(super) fn longest_output(&self) -> Option<u32> {
        match &self.model.declaration.model {
            DeclaredModel::Tensors(_) => None,
            DeclaredModel::Tokens { served, .. } => Some(served.max_tokens),
        }
    }

    /// Fails if the class does not support the settings of the batcher.
    pub(super) fn check_batching(&self, batching: &BatchingArgs) -> Result<(), ConfigError> {
        let (file, most) = (self.file.display(), self.model.declaration.max_batch);
        if let Some(asked) = batching.max_batch.filter(|asked| *asked > most) {
            return Err(ConfigError::Python(format!(
                "--max-batch {asked}: {file} declares max_batch = {most}; raise it there, or lower --max-batch"
            )));
        }
        let BatchingArgs { max_batch_tokens, buckets, batch_sizes, .. } = batching;
        if max_batch_tokens.is_some() || buckets.is_some() || batch_sizes.is_some() {
            return Err(ConfigError::Python(format!(
                "{}: max_batch_tokens, buckets and batch_sizes are for torch and plug-ins; remove them",
                manifest_path(&self.file).display()
            )));
        }
        Ok(())
    }
}
