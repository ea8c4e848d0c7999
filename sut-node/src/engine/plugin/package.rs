//! Packages of the engine `torch`: networks that were compiled ahead of time. A tensor model is one;
//! the file of a language model has one beside it.

use std::path::{Path, PathBuf};

use netdiv_plugin::{Plugin, PluginError, PluginTokenModel, PluginTokenSettings};
use tracing::warn;

use crate::engine::plugin::settings::PluginFile;

/// Ending of a package's file.
const ENDING: &str = "pt2";

/// Compiler of the packages, as the record names it after the plug-in.
pub(super) const COMPILER: &str = ", AOTInductor";

/// Returns true if the model file is a package of this plug-in.
pub(super) fn is_package(model: &Path, plugin: &PluginFile) -> bool {
    matches!(plugin, PluginFile::Torch { .. }) && model.extension().is_some_and(|it| it == ENDING)
}

/// Returns the package beside the file of a language model, if there is one.
pub(super) fn beside(model: &Path, plugin: &PluginFile) -> Option<PathBuf> {
    let package = model.with_extension(ENDING);
    (is_package(&package, plugin) && package.is_file()).then_some(package)
}

/// Loads a language model, together with its package if it has one. Logs a warning if the package
/// does not fit the model or the machine. Returns true if the model runs it.
pub(super) fn load(
    plugin: &Plugin,
    package: Option<&Path>,
    settings: PluginTokenSettings,
) -> Result<(PluginTokenModel, bool), PluginError> {
    if let Some(package) = package {
        let path = package.to_owned();
        match plugin.load_tokens(PluginTokenSettings { path, ..settings.clone() }) {
            Err(PluginError::Refused(why)) => {
                let (device, package) = (&settings.device, package.display());
                warn!(device, %package, "running without the package: {why}");
            }
            loaded => return Ok((loaded?, true)),
        }
    }
    Ok((plugin.load_tokens(settings)?, false))
}
