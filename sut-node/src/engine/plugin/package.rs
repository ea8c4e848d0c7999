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

/// Returns the package beside the file of a language model (`.pt`), if there is one.
pub(super) fn beside(model: &Path, plugin: &PluginFile) -> Option<PathBuf> {
    let package = model.with_extension(ENDING);
    let is_script = model.extension().is_some_and(|it| it == "pt");
    (is_script && is_package(&package, plugin) && package.is_file()).then_some(package)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_file_that_ends_in_pt_has_a_package_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("x.pt2");
        let found =
            |name: &str| beside(&folder.path().join(name), &PluginFile::Torch { libtorch: None });
        assert_eq!(found("x.pt"), None, "there is no file");
        fs::write(&package, "").unwrap();
        assert_eq!(found("x.pt"), Some(package));
        for other in ["x.jit", "x", "y.pt", "x.pt2"] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
