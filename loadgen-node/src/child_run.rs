//! Runs in processes of their own: LoadGen exists once per process.

use std::{collections::BTreeMap, ffi::OsString, path::Path, process::Command};

use serde_json::Value;

use crate::{RunError, output};

/// Name of the settings file in the run's folder.
const SETTINGS: &str = "run.toml";

/// Keys that each run sets by options.
const OWN_KEYS: [&str; 3] = ["output", "audit_config", "mode"];

/// Returns a command that runs this program with these settings, and with `options` in addition.
/// Writes the settings into `folder`. Neither the environment nor another file sets anything.
pub(crate) fn command(
    settings: BTreeMap<String, Value>,
    folder: &Path,
    options: impl IntoIterator<Item = OsString>,
) -> Result<Command, RunError> {
    let config = folder.join(SETTINGS);
    let mut settings = toml::Table::try_from(settings).map_err(RunError::failed)?;
    settings.retain(|key, _| !OWN_KEYS.contains(&key));
    let settings = toml::to_string(&settings).map_err(RunError::failed)?;
    output::write(&config, settings.as_bytes())?;
    let program = std::env::current_exe().map_err(RunError::failed)?;
    let mut run = netdiv_node_common::process::program(&program);
    run.arg("run").arg("--config").arg(&config).arg("--output").arg(folder).args(options);
    Ok(run)
}
