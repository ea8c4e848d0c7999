//! Packages of the engine `torch`: networks that were compiled ahead of time. A tensor model is one;
//! the file of a language model has one beside it.

use std::path::{Path, PathBuf};

use netdiv_plugin::{Plugin, PluginError, PluginTokenModel, PluginTokenSettings};
use tracing::warn;

use crate::engine::plugin::settings::PluginFile;

/// Ending of a package's file.
const ENDING: &str = "pt2";

/// Returns true if the file is a package.
pub(super) fn is_package(model: &Path) -> bool {
    model.extension().is_some_and(|extension| extension == ENDING)
}

/// Returns the package beside the file of a language model; `None` if there is no such file, or if
/// the plug-in is not `torch`.
pub(super) fn beside(model: &Path, plugin: &PluginFile) -> Option<PathBuf> {
    let package = model.with_extension(ENDING);
    (matches!(plugin, PluginFile::Torch { .. }) && package.is_file()).then_some(package)
}

/// Loads a language model together with its package. Returns `None`, and logs a warning, if the
/// package does not fit the model or the machine.
pub(super) fn load(
    plugin: &Plugin,
    package: &Path,
    settings: &PluginTokenSettings,
) -> Result<Option<PluginTokenModel>, PluginError> {
    let (path, device) = (package.to_owned(), &settings.device);
    match plugin.load_tokens(PluginTokenSettings { path, ..settings.clone() }) {
        Ok(model) => Ok(Some(model)),
        Err(PluginError::Refused(why)) => {
            warn!(device, package = %package.display(), "running without the package: {why}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the name and the version of a plug-in and its library for the record, with the compiler
/// of the package that it runs, if any. `package` is the SHA-256 of a package beside the model
/// file, or empty if the model file is the package.
pub(super) fn framework(plugin: &Plugin, package: Option<&str>) -> String {
    let compiler = match package {
        None => String::new(),
        Some("") => ", AOTInductor".into(),
        Some(sha256) => format!(", AOTInductor (package {sha256})"),
    };
    format!("{} {}{compiler}", plugin.name(), plugin.version())
}
