//! Loads a plug-in from its file.

use std::{path::Path, sync::Arc};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};

use netdiv_node_common::resources::files;

use crate::{
    abi::{self, Entry},
    error::PluginError,
    guard::read_text,
    model::{PluginModel, PluginModelSettings},
    table::Table,
    tokens::{handle::PluginTokenSettings, model::PluginTokenModel},
};

/// Maximum number of devices that a plug-in can list.
const MAX_DEVICES: usize = 64;

/// A loaded plug-in. It stays loaded until the process ends, because libraries that run models keep
/// threads and memory.
#[derive(Debug, Clone)]
pub struct Plugin(Arc<Table>);

/// A device that a plug-in lists, usable or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Name of the device for `--devices`.
    pub name: String,
    /// Model and driver of the device; if the device is not usable, the part that is missing.
    pub description: String,
    /// Set if the device can be used.
    pub usable: bool,
    /// Set if a batch takes far longer when its size has not run before.
    pub new_sizes_stall: bool,
}

/// Loads a library for the rest of the process. Libraries that are loaded later can use its
/// symbols.
pub fn preload(path: &Path) -> Result<(), PluginError> {
    load(path, RTLD_LAZY | RTLD_GLOBAL).map(std::mem::forget)
}

fn load(path: &Path, flags: std::ffi::c_int) -> Result<Library, PluginError> {
    let unloadable = |why| PluginError::Unloadable { path: path.into(), why };
    if path.exists() {
        // The system would block on a pipe. If there is no such file here, the system searches its
        // library paths for the name.
        files::check(path, u64::MAX).map_err(|error| unloadable(error.to_string()))?;
    }
    // SAFETY: loading runs the library's initialisers. The operator chooses the library, like any
    // program that the operator starts.
    unsafe { Library::open(Some(path), flags) }.map_err(|error| {
        // The system's reason is the source of the error.
        let why = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
        unloadable(why)
    })
}

impl Plugin {
    /// Loads a plug-in and checks that it was built for this node.
    pub fn open(path: &Path) -> Result<Self, PluginError> {
        let library = load(path, RTLD_NOW | RTLD_LOCAL)?;
        // SAFETY: the symbol's type is the header's.
        let entry = unsafe { library.get::<Entry>(abi::ENTRY.as_bytes()) };
        let entry = *entry.map_err(|_| {
            let (path, entry) = (path.display(), abi::ENTRY);
            let why = format!("{path} is not an engine plug-in: it does not export {entry}");
            PluginError::Refused(why)
        })?;
        std::mem::forget(library);
        // SAFETY: the function is the header's, and the library stays loaded.
        unsafe { Self::from_entry(path, entry) }
    }

    /// Returns the plug-in whose exported function is `entry`. `path` names the plug-in in errors.
    ///
    /// # Safety
    ///
    /// `entry` behaves as the header requires, and its table lives until the process ends.
    pub(crate) unsafe fn from_entry(path: &Path, entry: Entry) -> Result<Self, PluginError> {
        // SAFETY: as above.
        unsafe { Table::from_entry(path, entry) }.map(|table| Self(Arc::new(table)))
    }

    /// Returns the name of the engine, as the plug-in states it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the name and version of the library that runs the models.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Returns the devices that the plug-in finds, the preferred one first.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>, PluginError> {
        let empty = abi::Device { name: [0; 32], description: [0; 256], usable: 0 };
        let mut found = vec![empty; MAX_DEVICES];
        let mut count = 0;
        {
            let _alone = self.0.lock_exclusive();
            // SAFETY: the room has the stated length, and all pointers live through the call.
            self.0.call(|error| unsafe {
                let room = MAX_DEVICES as u32;
                (self.0.devices)(found.as_mut_ptr(), room, &mut count, error)
            })?;
        }
        let info = |device: &abi::Device| {
            let name = read_text(&device.name);
            if device.usable & abi::PARALLEL_LOADS != 0 {
                self.0.allow_parallel_loads(name.clone());
            }
            DeviceInfo {
                name,
                description: read_text(&device.description),
                usable: device.usable & abi::USABLE != 0,
                new_sizes_stall: device.usable & abi::NEW_SIZES_STALL != 0,
            }
        };
        Ok(found.iter().take(count as usize).map(info).collect())
    }

    /// Loads a model onto a device.
    pub fn load(&self, settings: PluginModelSettings) -> Result<PluginModel, PluginError> {
        PluginModel::load(self.0.clone(), &settings)
    }

    /// Loads a language model onto a device.
    pub fn load_tokens(
        &self,
        settings: PluginTokenSettings,
    ) -> Result<PluginTokenModel, PluginError> {
        PluginTokenModel::load(self.0.clone(), settings)
    }
}
