//! A plug-in's table of functions, checked; calls of the functions by the node, with their errors;
//! and the end of a process whose libraries cannot be cleaned up.

use std::{
    collections::HashSet,
    ffi::{CStr, c_char},
    path::Path,
    ptr::{self, NonNull},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};

use crate::{
    abi::{self, Entry, Functions, Status, Text, TokenFunctions},
    error::PluginError,
};

/// Copy of a plug-in's table, whose version and sizes this node accepts.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) devices: Devices,
    tensors: Option<Functions>,
    tokens: Option<TokenFunctions>,
    /// Waits for a batch of tensors, if the plug-in supports it.
    pub(crate) wait: Option<abi::Wait>,
    /// Held during load, unload, open, close and devices; shared by loads onto devices of
    /// `parallel`.
    alone: RwLock<()>,
    /// Names of the devices onto which several threads may load models at the same time.
    parallel: Mutex<HashSet<String>>,
    /// Reason why a device of the plug-in is lost. After a loss, no memory is released, because
    /// that could end the process.
    lost: OnceLock<String>,
}

type Devices = unsafe extern "C" fn(*mut abi::Device, u32, *mut u32, Text) -> Status;

impl Table {
    /// Calls the function that a plug-in exports for its table, and checks that the plug-in was
    /// built for this node. `path` names the plug-in in errors.
    ///
    /// # Safety
    ///
    /// `entry` behaves as the header requires, and its table lives until the process ends.
    pub(crate) unsafe fn from_entry(path: &Path, entry: Entry) -> Result<Self, PluginError> {
        // SAFETY: as above.
        let table = unsafe { entry(abi::ABI) };
        // SAFETY: a table that is not null starts with its ABI, in every version.
        let head = unsafe { table.cast::<u32>().as_ref() };
        let theirs = *head.ok_or_else(|| missing(path, abi::ENTRY))?;
        if theirs != abi::ABI {
            let (path, ours) = (path.display(), abi::ABI);
            let older = if theirs < ours { "plug-in" } else { "node" };
            return Err(PluginError::Refused(format!(
                "{path} has the plug-in ABI {theirs}, but this node has {ours}; rebuild the {older}"
            )));
        }
        // SAFETY: with this ABI, the table starts with its own size and the size of a tensor.
        let [_, size, tensor_size] = unsafe { *table.cast::<[u32; 3]>() };
        compare_size(path, "table", size, size_of::<abi::Engine>())?;
        compare_size(path, "netdiv_tensor", tensor_size, size_of::<abi::Tensor>())?;
        // SAFETY: the table has this size.
        let table = unsafe { &*table };
        // SAFETY: the header requires strings that end with zero; they live as long as the table.
        let (name, version) = unsafe { (string(table.name), string(table.version)) };
        // SAFETY: the pointer is null or the header's, and lives as long as the table.
        let tokens = unsafe { token_functions(path, table.tokens) }?;
        let devices = table.devices.ok_or_else(|| missing(path, "devices"))?;
        let tensors = match (table.load, tokens) {
            (None, Some(_)) => None,
            _ => Some(Functions::of(table).map_err(|function| missing(path, function))?),
        };
        Ok(Self {
            name,
            version,
            devices,
            tensors,
            tokens,
            wait: table.wait,
            alone: RwLock::new(()),
            parallel: Mutex::default(),
            lost: OnceLock::new(),
        })
    }

    /// Returns the functions for models that map tensors to tensors; an error if the plug-in has
    /// none.
    pub(crate) fn tensors(&self) -> Result<Functions, PluginError> {
        self.tensors.ok_or_else(|| {
            PluginError::Refused(format!(
                "the plug-in {} supports only language models; write workload = \"language-model\" and [tokens] into the manifest \
                 (docs/ENGINES.md)",
                self.name
            ))
        })
    }

    /// Returns the functions for language models; an error if the plug-in has none.
    pub(crate) fn tokens(&self) -> Result<TokenFunctions, PluginError> {
        self.tokens.ok_or_else(|| {
            PluginError::Refused(format!(
                "the plug-in {} does not support language models: its `tokens` is null; use another plug-in, or a serving engine \
                 (docs/ENGINES.md)",
                self.name
            ))
        })
    }

    /// Calls a function of the plug-in, and records if that loses the device. After a loss, returns
    /// the error without a call.
    pub(crate) fn call(&self, function: impl FnOnce(Text) -> Status) -> Result<(), PluginError> {
        if let Some(why) = self.loss_reason() {
            return Err(PluginError::DeviceLost(why.into()));
        }
        call(function).map_err(|error| match error {
            PluginError::DeviceLost(why) => {
                IS_DEVICE_LOST.store(true, Ordering::Relaxed);
                // The first reason stays.
                PluginError::DeviceLost(self.lost.get_or_init(|| why).clone())
            }
            error => error,
        })
    }

    /// Calls `load` for a device, while no other thread makes a call that excludes it. Returns the
    /// model that the function wrote.
    pub(crate) fn load<T>(
        &self,
        device: &str,
        load: impl FnOnce(*mut *mut T, Text) -> Status,
    ) -> Result<NonNull<T>, PluginError> {
        if self.parallel.lock().contains(device) {
            let _shared = self.alone.read();
            return self.create("load", load);
        }
        let _alone = self.lock_exclusive();
        self.create("load", load)
    }

    /// Calls `open`, while no other thread makes a call that excludes it. Returns the instance that
    /// the function wrote.
    pub(crate) fn open<T>(
        &self,
        open: impl FnOnce(*mut *mut T, Text) -> Status,
    ) -> Result<NonNull<T>, PluginError> {
        let _alone = self.lock_exclusive();
        self.create("open", open)
    }

    fn create<T>(
        &self,
        function: &str,
        call: impl FnOnce(*mut *mut T, Text) -> Status,
    ) -> Result<NonNull<T>, PluginError> {
        let mut created: *mut T = ptr::null_mut();
        self.call(|error| call(&mut created, error))?;
        NonNull::new(created).ok_or_else(|| {
            PluginError::Failed(format!("{function} returned neither an object nor an error"))
        })
    }

    /// Lets several threads load models onto this device at the same time.
    pub(crate) fn allow_parallel_loads(&self, device: String) {
        self.parallel.lock().insert(device);
    }

    /// Returns the reason why a device of the plug-in is lost; `None` if none is.
    pub(crate) fn loss_reason(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Excludes other threads from load, unload, open, close and devices, until the result is
    /// dropped.
    pub(crate) fn lock_exclusive(&self) -> impl Drop + '_ {
        self.alone.write()
    }
}

/// Copies the C string at `chars`; returns an empty string if the pointer is null.
///
/// # Safety
///
/// `chars` is null, or points to a NUL-terminated string.
unsafe fn string(chars: *const c_char) -> String {
    if chars.is_null() {
        return String::new();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(chars) }.to_string_lossy().into_owned()
}

/// Returns the functions of a table for language models; `None` if the table is null. `path` names
/// the plug-in in errors.
///
/// # Safety
///
/// `table` is null, or points at a table of the header's form that lives until the process ends.
unsafe fn token_functions(
    path: &Path,
    table: *const abi::TokenEngine,
) -> Result<Option<TokenFunctions>, PluginError> {
    if table.is_null() {
        return Ok(None);
    }
    // SAFETY: the table starts with its own size and the size of an event.
    let [size, event_size] = unsafe { *table.cast::<[u32; 2]>() };
    let (ours, our_event) = (size_of::<abi::TokenEngine>(), size_of::<abi::TokenEvent>());
    compare_size(path, "netdiv_token_engine", size, ours)?;
    compare_size(path, "netdiv_token_event", event_size, our_event)?;
    // SAFETY: it has this size.
    let functions = TokenFunctions::of(unsafe { &*table });
    functions.map(Some).map_err(|function| missing(path, function))
}

fn missing(path: &Path, function: &str) -> PluginError {
    let path = path.display();
    PluginError::Refused(format!("{path}: its `{function}` is null or returns null"))
}

/// Fails unless the struct `what` has as many bytes in the plug-in (`theirs`) as in this node
/// (`ours`).
fn compare_size(path: &Path, what: &str, theirs: u32, ours: usize) -> Result<(), PluginError> {
    if theirs as usize == ours {
        return Ok(());
    }
    let path = path.display();
    Err(PluginError::Refused(format!(
        "{path}: its {what} has {theirs} bytes, but this node's has {ours}; build it with the node's netdiv_engine.h"
    )))
}

/// Maximum length of an error text, in bytes. The error texts of libtorch can contain whole
/// tensors.
const MAX_ERROR_BYTES: usize = 4096;

/// Calls `function` with a buffer for its error text. Turns its status and text into a result.
pub(crate) fn call(function: impl FnOnce(Text) -> Status) -> Result<(), PluginError> {
    let mut room = vec![0_u8; MAX_ERROR_BYTES];
    let status = function(Text { at: room.as_mut_ptr().cast(), room: MAX_ERROR_BYTES as u64 });
    if status == abi::OK {
        return Ok(());
    }
    // The plug-in may have omitted the zero that ends the text.
    room[MAX_ERROR_BYTES - 1] = 0;
    let text = CStr::from_bytes_until_nul(&room).map(CStr::to_string_lossy).unwrap_or_default();
    let text = match text.trim() {
        "" => format!("the plug-in states no reason (status {status})"),
        text => text.to_owned(),
    };
    Err(match status {
        abi::OUT_OF_MEMORY => PluginError::OutOfMemory(text),
        abi::DEVICE_LOST => PluginError::DeviceLost(text),
        abi::REFUSED => PluginError::Refused(text),
        _ => PluginError::Failed(text),
    })
}

/// Set once a device of any plug-in is lost to this process.
static IS_DEVICE_LOST: AtomicBool = AtomicBool::new(false);

/// Returns true once a device of any plug-in is lost to this process.
pub fn is_device_lost() -> bool {
    IS_DEVICE_LOST.load(Ordering::Relaxed)
}

/// Ends the process without the destructors of its libraries. A destructor may abort, or wait for
/// ever, after its device is lost or while a thread is inside its library.
pub fn end_without_destructors(code: u8) -> ! {
    // SAFETY: the call never returns, and no other code of this process runs afterwards.
    unsafe { libc::_exit(code.into()) }
}
