//! A plug-in's file and its table of functions.

use std::{
    ffi::{CStr, c_char},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};

use crate::{
    Model, PluginError, Settings,
    abi::{self, Entry},
    call::{call, text},
};

/// Most devices that are asked for.
const MAX_DEVICES: usize = 64;

/// A loaded plug-in. It stays loaded until the process ends: what runs models keeps threads and memory of its own.
#[derive(Debug, Clone)]
pub struct Plugin(Arc<Loaded>);

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) functions: Functions,
    name: String,
    version: String,
    /// For what only one thread at a time may call.
    alone: Mutex<()>,
}

/// The table without its holes; see the header.
#[derive(Debug)]
pub(crate) struct Functions {
    devices: unsafe extern "C" fn(*mut abi::Device, u32, *mut u32, abi::Text) -> abi::Status,
    pub(crate) load: unsafe extern "C" fn(
        *const abi::ModelSettings,
        *mut *mut abi::Model,
        abi::Text,
    ) -> abi::Status,
    pub(crate) unload: unsafe extern "C" fn(*mut abi::Model),
    pub(crate) open:
        unsafe extern "C" fn(*mut abi::Model, *mut *mut abi::Instance, abi::Text) -> abi::Status,
    pub(crate) close: unsafe extern "C" fn(*mut abi::Instance),
    pub(crate) in_flight: unsafe extern "C" fn(*const abi::Instance) -> u32,
    pub(crate) allocate: unsafe extern "C" fn(
        *mut abi::Instance,
        u64,
        *mut *mut std::ffi::c_void,
        abi::Text,
    ) -> abi::Status,
    pub(crate) release: unsafe extern "C" fn(*mut abi::Instance, *mut std::ffi::c_void),
    pub(crate) warm_up: abi::WarmUp,
    pub(crate) begin: abi::Begin,
    pub(crate) finish: unsafe extern "C" fn(*mut abi::Instance, u32, abi::Text) -> abi::Status,
}

/// A device of a plug-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// As `--devices` takes it.
    pub name: String,
    /// Make and driver, or what is missing.
    pub description: String,
    /// Whether it can be used.
    pub usable: bool,
}

/// Loads a library whose symbols all later ones may use.
pub fn preload(path: &Path) -> Result<(), PluginError> {
    load(path, RTLD_LAZY | RTLD_GLOBAL).map(std::mem::forget)
}

fn load(path: &Path, flags: std::ffi::c_int) -> Result<Library, PluginError> {
    // SAFETY: loading runs the library's initialisers. Which library that is, is the operator's choice, as with any
    // program that the operator starts.
    unsafe { Library::open(Some(path), flags) }.map_err(|error| {
        // What the system says is in the source of the error.
        let why = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
        PluginError::Unloadable { path: path.into(), why }
    })
}

impl Plugin {
    /// Loads a plug-in and checks that it was made for this node.
    pub fn open(path: &Path) -> Result<Self, PluginError> {
        let library = load(path, RTLD_NOW | RTLD_LOCAL)?;
        // SAFETY: the symbol's type is the header's.
        let entry = unsafe { library.get::<Entry>(abi::ENTRY.as_bytes()) };
        let entry = *entry.map_err(|_| PluginError::NotAPlugin(path.into()))?;
        std::mem::forget(library);
        // SAFETY: the function is the header's; the library stays loaded.
        let table = unsafe { entry(abi::ABI) };
        // SAFETY: a table that is not null starts with its ABI, in every version, and lives as long as the library.
        let head = unsafe { table.cast::<u32>().as_ref() };
        let none = || PluginError::Missing { path: path.into(), function: abi::ENTRY };
        let theirs = *head.ok_or_else(none)?;
        if theirs != abi::ABI {
            return Err(PluginError::Abi { path: path.into(), theirs });
        }
        // SAFETY: with this ABI, the table starts with its own size and that of a tensor.
        let [_, size, tensor_size] = unsafe { *table.cast::<[u32; 3]>() };
        check_size(path, "table", size, size_of::<abi::Engine>())?;
        check_size(path, "netdiv_tensor", tensor_size, size_of::<abi::Tensor>())?;
        // SAFETY: it has this ABI and this size.
        let table = unsafe { &*table };
        let (name, version) = (string(table.name), string(table.version));
        let functions = functions(table)
            .map_err(|function| PluginError::Missing { path: path.into(), function })?;
        Ok(Self(Arc::new(Loaded { functions, name, version, alone: Mutex::new(()) })))
    }

    /// The engine's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it runs on, in words.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// The devices that it finds, the preferred one first.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>, PluginError> {
        let empty = abi::Device { name: [0; 32], description: [0; 256], usable: 0 };
        let mut found = vec![empty; MAX_DEVICES];
        let mut count = 0;
        {
            let _alone = self.0.alone();
            // SAFETY: the room is as long as said, and all pointers live through the call.
            call(|error| unsafe {
                let room = MAX_DEVICES as u32;
                (self.0.functions.devices)(found.as_mut_ptr(), room, &mut count, error)
            })?;
        }
        let info = |device: &abi::Device| DeviceInfo {
            name: text(&device.name),
            description: text(&device.description),
            usable: device.usable == 1,
        };
        Ok(found.iter().take(count as usize).map(info).collect())
    }

    /// Brings a model onto a device.
    pub fn load(&self, settings: Settings) -> Result<Model, PluginError> {
        Model::load(self.0.clone(), settings)
    }
}

impl Loaded {
    pub(crate) fn alone(&self) -> impl Drop + '_ {
        self.alone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_size(
    path: &Path,
    what: &'static str,
    theirs: u32,
    ours: usize,
) -> Result<(), PluginError> {
    match theirs as usize == ours {
        true => Ok(()),
        false => Err(PluginError::Size { path: PathBuf::from(path), what, theirs, ours }),
    }
}

fn string(chars: *const c_char) -> String {
    if chars.is_null() {
        return String::new();
    }
    // SAFETY: the header asks for strings that end with zero and live as long as the library.
    unsafe { CStr::from_ptr(chars) }.to_string_lossy().into_owned()
}

/// The functions, or the name of one that is missing.
fn functions(table: &abi::Engine) -> Result<Functions, &'static str> {
    Ok(Functions {
        devices: table.devices.ok_or("devices")?,
        load: table.load.ok_or("load")?,
        unload: table.unload.ok_or("unload")?,
        open: table.open.ok_or("open")?,
        close: table.close.ok_or("close")?,
        in_flight: table.in_flight.ok_or("in_flight")?,
        allocate: table.allocate.ok_or("allocate")?,
        release: table.release.ok_or("release")?,
        warm_up: table.warm_up.ok_or("warm_up")?,
        begin: table.begin.ok_or("begin")?,
        finish: table.finish.ok_or("finish")?,
    })
}
