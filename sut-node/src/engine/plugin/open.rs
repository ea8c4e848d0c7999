//! Opens a plug-in, lists its devices, and places instances on them.

use std::{
    panic::resume_unwind,
    path::PathBuf,
    thread::{self, ScopedJoinHandle},
};

use netdiv_node_common::resources::files;
use netdiv_plugin::{DeviceInfo, Plugin, PluginError};
use tracing::warn;

use crate::{
    engine::{
        libtorch,
        plugin::settings::{PluginConfig, PluginFile},
        settings::NodeSettings,
    },
    ground::error::EngineError,
};

/// Opens a plug-in. Returns the plug-in, and for `torch` the folder of libtorch.
fn open(file: &PluginFile) -> Result<(Plugin, Option<PathBuf>), EngineError> {
    match file {
        PluginFile::Torch { libtorch } => {
            let (plugin, folder) = libtorch::open(libtorch.as_deref())?;
            Ok((plugin, Some(folder)))
        }
        PluginFile::File(path) => Ok((Plugin::open(path)?, None)),
    }
}

/// Fails if the chosen plug-in, or the chosen folder of libtorch, is missing. Loads nothing.
pub(super) fn check(file: &PluginFile) -> Result<(), EngineError> {
    match file {
        PluginFile::Torch { libtorch: Some(folder) } => libtorch::usable(folder).map(drop),
        // For a name without a folder, the system searches its library paths.
        PluginFile::File(path) if path.components().count() > 1 => files::check(path, u64::MAX)
            .map_err(|error| {
                PluginError::Unloadable { path: path.clone(), why: error.to_string() }.into()
            }),
        PluginFile::Torch { libtorch: None } | PluginFile::File(_) => Ok(()),
    }
}

/// Describes the devices that a plug-in finds, as text for operators.
pub(crate) fn devices(file: &PluginFile) -> Result<String, EngineError> {
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

/// Placement of the instances: the devices, the number of instances on each device, and the number
/// of host threads of each instance.
pub(super) struct Placement {
    devices: Vec<String>,
    instances: usize,
    threads: usize,
    /// Set if, on one of the devices, a batch takes far longer when its size has not run before.
    pub(super) new_sizes_stall: bool,
}

/// Opens a plug-in, and places its instances as the operator chose. By default, all devices of the
/// preferred kind run instances, and each instance has an equal share of the cores.
pub(super) fn place(
    config: &PluginConfig,
    node: &NodeSettings,
) -> Result<(Plugin, Placement), EngineError> {
    let (PluginConfig { devices, threads, .. }, instances) = (config, node.instances);
    let (plugin, _) = open(&config.file)?;
    let found = match plugin.devices() {
        // The operator has named the devices, so the list is not needed.
        Err(error) if !devices.is_empty() => {
            warn!(%error, "the plug-in does not list its devices");
            Vec::new()
        }
        found => found?,
    };
    let stalling: Vec<_> =
        found.iter().filter(|it| it.new_sizes_stall).map(|it| it.name.clone()).collect();
    let devices = if devices.is_empty() {
        for missing in found.iter().filter(|device| !device.usable) {
            // A node with a GPU must not fall back to its processor silently.
            warn!(
                "{} is not used: {}; choose devices with --devices",
                missing.name, missing.description
            );
        }
        preferred(plugin.name(), found)?
    } else {
        devices.clone()
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let share = (cores / (devices.len() * instances)).max(1);
    let new_sizes_stall = devices.iter().any(|device| stalling.contains(device));
    let threads = threads.unwrap_or(share);
    Ok((plugin, Placement { devices, instances, threads, new_sizes_stall }))
}

impl Placement {
    /// Loads the model onto each device with `load`, each on its own thread, and then opens the
    /// instances with `open`. `load` receives the name of the device and the number of threads of
    /// an instance; `open` receives the name of the device and the model.
    pub(super) fn fill<M: Send, I>(
        &self,
        load: impl Fn(&str, usize) -> Result<M, EngineError> + Sync,
        mut open: impl FnMut(&str, &M) -> Result<I, EngineError>,
    ) -> Result<Vec<I>, EngineError> {
        let models = thread::scope(|scope| {
            let loading = self.devices.iter().map(|device| {
                let load = &load;
                thread::Builder::new().spawn_scoped(scope, move || load(device, self.threads))
            });
            let loading: Vec<_> = loading.collect();
            // A thread that nobody joins would replace an earlier error by its panic.
            let joined: Vec<_> =
                loading.into_iter().map(|thread| thread.map(ScopedJoinHandle::join)).collect();
            let models = joined.into_iter().zip(&self.devices).map(|(model, device)| {
                let model = model?.unwrap_or_else(|panic| resume_unwind(panic));
                model.map_err(|error| error.on(device))
            });
            models.collect::<Result<Vec<M>, EngineError>>()
        })?;
        let mut filled = Vec::new();
        for (device, model) in self.devices.iter().zip(&models) {
            for _ in 0..self.instances {
                filled.push(open(device, model)?);
            }
        }
        Ok(filled)
    }
}

/// Returns all usable devices of the first one's kind, such as `cuda` for `cuda:0`. Fails if no
/// device is usable.
fn preferred(plugin: &str, devices: Vec<DeviceInfo>) -> Result<Vec<String>, EngineError> {
    let kind = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    let Some(first) = devices.iter().find(|device| device.usable).map(|device| kind(&device.name))
    else {
        let found: Vec<_> = devices
            .iter()
            .map(|d| format!("{} is not usable ({})", d.name, d.description))
            .collect();
        let found = if found.is_empty() { "it finds none".into() } else { found.join(", ") };
        return Err(EngineError::Start(format!(
            "the plug-in {plugin} has no device to run on: {found}. `sut-node devices` lists them; --devices selects one"
        )));
    };
    let usable = devices.into_iter().filter(|device| device.usable).map(|device| device.name);
    Ok(usable.filter(|name| kind(name) == first).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, usable: bool) -> DeviceInfo {
        DeviceInfo {
            name: name.into(),
            description: "no driver".into(),
            usable,
            new_sizes_stall: false,
        }
    }

    #[test]
    fn all_usable_devices_of_the_first_kind_are_chosen() {
        let found = [("cuda:0", false), ("cuda:1", true), ("cuda:2", true), ("cpu", true)];
        let found = found.map(|(name, usable)| device(name, usable)).to_vec();
        assert_eq!(preferred("torch", found).unwrap(), ["cuda:1", "cuda:2"]);
    }

    #[test]
    fn a_panic_on_a_later_device_hides_no_error_of_an_earlier_one() {
        let devices = vec!["cuda:0".into(), "cuda:1".into()];
        let places = Placement { devices, instances: 1, threads: 1, new_sizes_stall: false };
        let load = |device: &str, _| -> Result<(), EngineError> {
            assert_eq!(device, "cuda:0", "a panic");
            Err(EngineError::Start("cannot load".into()))
        };
        let error = places.fill(load, |_, ()| Ok(())).unwrap_err().to_string();
        assert!(error.contains("cuda:0") && error.contains("cannot load"), "{error}");
    }

    #[test]
    fn without_a_usable_device_there_is_no_node() {
        for (found, words) in [
            (vec![], "has no device to run on: it finds none"),
            (vec![device("cuda:0", false)], "cuda:0 is not usable (no driver)"),
        ] {
            let refused = preferred("torch", found).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains("--devices"), "{refused}");
        }
    }
}
