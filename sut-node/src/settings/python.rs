//! Settings of the engine `python`, which runs a user's class in a worker process.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    model::batching::BatchingArgs,
    settings::{error::ConfigError, python_manifest::PythonManifest},
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

impl PythonArgs {
    /// Asks the engine's file for its declaration, and reads the manifest beside it. Fails with the
    /// file, the line and the fix.
    pub(super) fn resolve(
        &self,
        file: &Path,
        threads: usize,
        start_timeout: Duration,
        batching: &BatchingArgs,
    ) -> Result<PythonConfig, ConfigError> {
        let python = self.python.clone().unwrap_or_else(|| "python3".into());
        let declaration = declare(&python, file).map_err(ConfigError::Python)?;
        let (most, shown) = (declaration.max_batch, file.display());
        if let Some(asked) = batching.max_batch.filter(|asked| *asked > most) {
            return Err(ConfigError::Python(format!(
                "--max-batch {asked}: {shown} declares max_batch = {most}; raise it there, or lower --max-batch"
            )));
        }
        if batching.batch_timeout.is_some() && declaration.is_language_model() {
            return Err(ConfigError::Python(format!(
                "--batch-timeout is for `infer`, but {shown} has `generate`, whose requests do not wait for others; remove the option"
            )));
        }
        let manifest = PythonManifest::read(file, &declaration)?;
        let model = PythonModel { declaration, manifest };
        Ok(PythonConfig { file: file.to_path_buf(), python, start_timeout, threads, model })
    }
}

impl PythonConfig {
    /// Returns the maximum number of tokens of an output; `None` if outputs are not tokens.
    pub(super) fn longest_output(&self) -> Option<u32> {
        match &self.model.declaration.model {
            DeclaredModel::Tensors(_) => None,
            DeclaredModel::Tokens { served, .. } => Some(served.max_tokens),
        }
    }
}
