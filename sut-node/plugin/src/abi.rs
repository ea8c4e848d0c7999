//! `include/netdiv_engine.h` in Rust. The header explains each name.

use std::ffi::{c_char, c_void};

/// Version of the ABI that this module describes, the only one that the node accepts.
pub const ABI: u32 = 3;

/// Maximum number of dimensions of a tensor, including the batch.
pub const MAX_RANK: usize = 9;

/// Name of the only function that a plug-in exports.
pub const ENTRY: &str = "netdiv_engine_plugin";

/// Signature of the only function that a plug-in exports. `abi` is the node's version of the ABI.
/// Returns the plug-in's table of functions.
pub type Entry = unsafe extern "C" fn(abi: u32) -> *const Engine;

/// Status that a function of the table returns: one of the constants below. It is not an enum,
/// because a plug-in may return any number.
pub type Status = u32;

/// Success.
pub const OK: Status = 0;
/// The model or the device failed.
pub const FAILED: Status = 1;
/// The device's memory is full.
pub const OUT_OF_MEMORY: Status = 2;
/// The plug-in does not support the model, device or precision.
pub const REFUSED: Status = 3;
/// The device is lost: this process cannot use it any more.
pub const DEVICE_LOST: Status = 4;

/// Buffer of the node, to which a function of the table writes its error text.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Text {
    /// Address of the buffer's first byte.
    pub at: *mut c_char,
    /// Size of the buffer in bytes. The zero that ends the text needs one of them.
    pub room: u64,
}

/// A tensor in memory that `allocate` returned.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Tensor {
    /// Type of the elements, as a number of the wire contract's `DataType`.
    pub data_type: u32,
    /// Number of dimensions.
    pub rank: u32,
    /// Length of each dimension; the first is the batch.
    pub shape: [i64; MAX_RANK],
    /// Address of the elements, which are contiguous.
    pub data: *mut c_void,
    /// Length of all elements, in bytes.
    pub bytes: u64,
}

/// An input or output of a model, as the model's manifest describes it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TensorSpec {
    /// Name of the input or output.
    pub name: *const c_char,
    /// Type of the elements, as a number of the wire contract's `DataType`.
    pub data_type: u32,
    /// Number of dimensions, including the batch.
    pub rank: u32,
    /// Length of each dimension, the batch first; -1 if any length is allowed.
    pub shape: [i64; MAX_RANK],
}

/// Flag in [`Device::usable`]: the device can be used.
pub const USABLE: u32 = 1;
/// Flag in [`Device::usable`]: a batch takes far longer if its size has not run before.
pub const NEW_SIZES_STALL: u32 = 2;
/// Flag in [`Device::usable`]: several threads may load models onto the devices that have this
/// flag, at the same time.
pub const PARALLEL_LOADS: u32 = 4;

/// A device that the plug-in lists, usable or not.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Device {
    /// Name of the device for `--devices`.
    pub name: [c_char; 32],
    /// Model and driver of the device; if the device is not usable, the part that is missing.
    pub description: [c_char; 256],
    /// [`USABLE`], and the other flags that apply; 0 if the device cannot be used.
    pub usable: u32,
}

/// Settings with which the node loads a model.
#[derive(Debug)]
#[repr(C)]
pub struct ModelSettings {
    /// Size of this struct, in bytes.
    pub size: u64,
    /// Path of the model file.
    pub path: *const c_char,
    /// Name of the device to load the model onto.
    pub device: *const c_char,
    /// Name of the precision: "fp32", "tf32", "fp16" or "bf16".
    pub precision: *const c_char,
    /// Maximum number of host threads that an instance may use.
    pub threads: u32,
    /// Set to 1 if all batches have shapes that `warm_up` has run, or smaller ones after
    /// [`OUT_OF_MEMORY`].
    pub fixed_shapes: u32,
    /// Number of inputs.
    pub input_count: u32,
    /// Number of outputs.
    pub output_count: u32,
    /// Specs of the inputs, in the order of the model's arguments.
    pub inputs: *const TensorSpec,
    /// Specs of the outputs, in the order in which the model returns them.
    pub outputs: *const TensorSpec,
}

/// Opaque type of a model that a plug-in has loaded.
pub enum Model {}
/// Opaque type of an instance of a model. A plug-in opens it, and one thread of the node owns it.
pub enum Instance {}

/// Signature of `warm_up`, which runs a batch of zeros.
pub type WarmUp = unsafe extern "C" fn(
    instance: *mut Instance,
    inputs: *const Tensor,
    input_count: u32,
    outputs: *const Tensor,
    output_count: u32,
    error: Text,
) -> Status;

/// Signature of `begin`, which begins a batch in the slot `slot`.
pub type Begin = unsafe extern "C" fn(
    instance: *mut Instance,
    slot: u32,
    inputs: *const Tensor,
    input_count: u32,
    outputs: *const Tensor,
    output_count: u32,
    error: Text,
) -> Status;

/// Signature of `wait` and of `finish`, which wait for the batch in the slot `slot`.
pub type Wait = unsafe extern "C" fn(instance: *mut Instance, slot: u32, error: Text) -> Status;

/// Settings with which the node loads a language model.
#[derive(Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct TokenSettings {
    pub size: u64,
    pub path: *const c_char,
    pub device: *const c_char,
    pub precision: *const c_char,
    pub threads: u32,
    pub vocabulary: u32,
    pub longest_prompt: u32,
    pub longest_output: u32,
    pub slots: u32,
    pub chunk: u32,
    pub cache_bytes: u64,
    pub beams: u32,
    pub end_count: u32,
    pub ends: *const i32,
}

/// Capacity of an instance of a language model, which `open` returns.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct TokenRoom {
    pub slots: u32,
    pub reserved: u32,
    pub cache_bytes: u64,
}

/// Result of a step for one sample: the ids that the step appends to the sample's output.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct TokenEvent {
    pub sample: u64,
    pub ids: *const i32,
    pub count: u32,
    pub is_last: u32,
}

/// Opaque type of a language model that a plug-in has loaded.
pub enum TokenModel {}
/// Opaque type of an instance of a language model.
pub enum TokenInstance {}

/// Signature of `submit`. The prompt of sample number `sample` is the `count` ids at `ids`. Its
/// output must have `least` to `most` ids.
pub type Submit = unsafe extern "C" fn(
    instance: *mut TokenInstance,
    sample: u64,
    ids: *const i32,
    count: u32,
    least: u32,
    most: u32,
    error: Text,
) -> Status;

/// Declares a table of the header, whose functions may be null, and a struct of the functions that
/// the node requires of it.
macro_rules! table {
    (
        $(#[$table_doc:meta])* $table:ident { $($head:ident: $head_type:ty,)* }
        $(#[$doc:meta])* $functions:ident($prefix:literal) { $($function:ident: $type:ty,)* }
        { $($tail:ident: $tail_type:ty,)* }
    ) => {
        $(#[$table_doc])*
        #[derive(Debug, Clone, Copy)]
        #[repr(C)]
        #[allow(missing_docs, reason = "the header explains them")]
        pub struct $table {
            $(pub $head: $head_type,)*
            $(pub $function: Option<$type>,)*
            $(pub $tail: $tail_type,)*
        }

        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $functions {
            $(pub(crate) $function: $type,)*
        }

        impl $functions {
            /// Returns the functions of a table, or the name of the first missing one.
            pub(crate) fn of(table: &$table) -> Result<Self, &'static str> {
                Ok(Self {
                    $($function: table.$function.ok_or(concat!($prefix, stringify!($function)))?,)*
                })
            }
        }
    };
}

table! {
    /// Table of a plug-in's functions for language models.
    TokenEngine {
        size: u32,
        event_size: u32,
    }
    /// Functions for language models.
    TokenFunctions("tokens.") {
        load: unsafe extern "C" fn(*const TokenSettings, *mut *mut TokenModel, Text) -> Status,
        unload: unsafe extern "C" fn(*mut TokenModel),
        open: unsafe extern "C" fn(
            *mut TokenModel,
            *mut *mut TokenInstance,
            *mut TokenRoom,
            Text,
        ) -> Status,
        close: unsafe extern "C" fn(*mut TokenInstance),
        warm_up: unsafe extern "C" fn(*mut TokenInstance, Text) -> Status,
        submit: Submit,
        step: unsafe extern "C" fn(
            *mut TokenInstance,
            *mut TokenEvent,
            u32,
            *mut u32,
            Text,
        ) -> Status,
        cancel: unsafe extern "C" fn(*mut TokenInstance, u64),
    }
    {}
}

table! {
    /// Table of a plug-in's functions, which the function [`ENTRY`] returns.
    Engine {
        abi: u32,
        size: u32,
        tensor_size: u32,
        reserved: u32,
        name: *const c_char,
        version: *const c_char,
        devices: Option<unsafe extern "C" fn(*mut Device, u32, *mut u32, Text) -> Status>,
    }
    /// Functions for models that map tensors to tensors.
    Functions("") {
        load: unsafe extern "C" fn(*const ModelSettings, *mut *mut Model, Text) -> Status,
        unload: unsafe extern "C" fn(*mut Model),
        open: unsafe extern "C" fn(*mut Model, *mut *mut Instance, Text) -> Status,
        close: unsafe extern "C" fn(*mut Instance),
        in_flight: unsafe extern "C" fn(*const Instance) -> u32,
        allocate: unsafe extern "C" fn(*mut Instance, u64, *mut *mut c_void, Text) -> Status,
        release: unsafe extern "C" fn(*mut Instance, *mut c_void),
        warm_up: WarmUp,
        begin: Begin,
        finish: Wait,
    }
    {
        tokens: *const TokenEngine,
        wait: Option<Wait>,
    }
}
