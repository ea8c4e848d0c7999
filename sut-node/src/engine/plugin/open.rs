//! Opening a plug-in, and what it finds to compute on.

use std::path::PathBuf;

use netdiv_plugin::Plugin;

use crate::{
    engine::{error::EngineError, libtorch},
    settings::engine::PluginFile,
};

/// The plug-in, and where libtorch was found.
pub(super) fn open(file: &PluginFile) -> Result<(Plugin, Option<PathBuf>), EngineError> {
    match file {
        PluginFile::Torch { libtorch } => {
            let (plugin, folder) = libtorch::open(libtorch.as_deref())?;
            Ok((plugin, Some(folder)))
        }
        PluginFile::File(path) => Ok((Plugin::open(path)?, None)),
    }
}

/// What an engine plug-in finds to compute on, for people.
pub fn devices(file: &PluginFile) -> Result<String, EngineError> {
    let (plugin, libtorch) = open(file)?;
    let mut text = format!("{} ({})\n", plugin.name(), plugin.version());
    if let Some(folder) = libtorch {
        text.push_str(&format!("  libtorch in {}\n", folder.display()));
    }
    for device in plugin.devices()? {
        let usable = if device.usable { "" } else { "not usable: " };
        text.push_str(&format!("  {:<8} {usable}{}\n", device.name, device.description));
    }
    Ok(text)
}
