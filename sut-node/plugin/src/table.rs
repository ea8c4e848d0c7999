//! A plug-in's table of functions, checked.

use std::{
    ffi::{CStr, c_char},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use parking_lot::Mutex;

use crate::{
    abi::{self, Entry},
    call::call,
    error::PluginError,
};

/// The table of a plug-in that fits this node.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) functions: Functions,
    pub(crate) name: String,
    pub(crate) version: String,
    /// Held during calls that only one thread at a time may make.
    alone: Mutex<()>,
    /// Why its device is lost. Memory then stays where it is: giving it back could end the process.
    lost: OnceLock<String>,
}

/// The functions, none of them missing; see the header.
#[derive(Debug)]
pub(crate) struct Functions {
    pub(crate) devices:
        unsafe extern "C" fn(*mut abi::Device, u32, *mut u32, abi::Text) -> abi::Status,
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
    pub(crate) finish: abi::Wait,
    pub(crate) wait: Option<abi::Wait>,
}

impl Table {
    /// Asks a plug-in's entry for its table and checks that it was made for this node.
    ///
    /// # Safety
    ///
    /// The function is the header's, and what it gives lives until the process ends.
    pub(crate) unsafe fn of(path: &Path, entry: Entry) -> Result<Self, PluginError> {
        // SAFETY: as above.
        let table = unsafe { entry(abi::ABI) };
        // SAFETY: a table that is not null starts with its ABI, in every version.
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
        // SAFETY: the header asks for strings that end with zero; they live as long as the table.
        let (name, version) = unsafe { (string(table.name), string(table.version)) };
        let functions = functions(table)
            .map_err(|function| PluginError::Missing { path: path.into(), function })?;
        Ok(Self { functions, name, version, alone: Mutex::new(()), lost: OnceLock::new() })
    }

    /// Makes a call that may lose the device. Once it is lost, no call is made.
    pub(crate) fn call(
        &self,
        function: impl FnOnce(abi::Text) -> abi::Status,
    ) -> Result<(), PluginError> {
        if let Some(why) = self.lost() {
            return Err(PluginError::DeviceLost(why.into()));
        }
        call(function).inspect_err(|error| {
            if let PluginError::DeviceLost(why) = error {
                // The first reason stays.
                let _ = self.lost.set(why.clone());
            }
        })
    }

    /// Why the device is lost, if it is.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Excludes other threads from load, unload, open, close and devices.
    pub(crate) fn alone(&self) -> impl Drop + '_ {
        self.alone.lock()
    }
}

fn check_size(
    path: &Path,
    what: &'static str,
    theirs: u32,
    ours: usize,
) -> Result<(), PluginError> {
    if theirs as usize == ours {
        Ok(())
    } else {
        Err(PluginError::Size { path: PathBuf::from(path), what, theirs, ours })
    }
}

/// The text, empty for null.
///
/// # Safety
///
/// What is not null ends with a zero.
unsafe fn string(chars: *const c_char) -> String {
    if chars.is_null() {
        return String::new();
    }
    // SAFETY: as above.
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
        wait: table.wait,
    })
}
