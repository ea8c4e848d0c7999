//! `include/netdiv_engine.h` in Rust. The header explains each name.

use std::ffi::{c_char, c_void};

/// Version of the ABI.
pub const ABI: u32 = 3;

/// Oldest version that the node accepts. It has no language models.
pub const OLDEST_ABI: u32 = 1;

/// Maximum number of dimensions of a tensor, including the batch.
pub const MAX_RANK: usize = 9;

/// Name of the only function that a plug-in exports.
pub const ENTRY: &str = "netdiv_engine_plugin";

/// Function that a plug-in exports.
pub type Entry = unsafe extern "C" fn(abi: u32) -> *const Engine;

/// Status of a function: a number, because a plug-in may return any.
pub type Status = u32;

/// Success.
pub const OK: Status = 0;
/// The model or the device failed.
pub const FAILED: Status = 1;
/// The device's memory is full.
pub const OUT_OF_MEMORY: Status = 2;
/// The plug-in does not support the model, device or precision.
pub const REFUSED: Status = 3;
/// The device is lost to this process.
pub const DEVICE_LOST: Status = 4;

/// Room for an error text.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Text {
    /// Address of the first byte.
    pub at: *mut c_char,
    /// Room in bytes, including the final zero.
    pub room: u64,
}

/// A tensor in memory that `allocate` returned.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Tensor {
    /// Element type.
    pub data_type: u32,
    /// Number of dimensions.
    pub rank: u32,
    /// Length of each dimension; the first is the batch.
    pub shape: [i64; MAX_RANK],
    /// Address of the first byte.
    pub data: *mut c_void,
    /// Length, in bytes.
    pub bytes: u64,
}

/// An input or output, from the manifest.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TensorSpec {
    /// Name of the input or output.
    pub name: *const c_char,
    /// Element type.
    pub data_type: u32,
    /// Number of dimensions, including the batch.
    pub rank: u32,
    /// Length of each dimension; -1 is free.
    pub shape: [i64; MAX_RANK],
}

/// Flag of a device that can be used.
pub const USABLE: u32 = 1;
/// Flag of a device on which a batch size that has not run before takes far longer.
pub const NEW_SIZES_STALL: u32 = 2;

/// A device of the plug-in.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Device {
    /// Name of the device for `--devices`.
    pub name: [c_char; 32],
    /// Model and driver, or the missing part.
    pub description: [c_char; 256],
    /// [`USABLE`] and further flags, or 0.
    pub usable: u32,
}

/// Settings of a model.
#[derive(Debug)]
#[repr(C)]
pub struct ModelSettings {
    /// Size of this struct, in bytes.
    pub size: u64,
    /// Path of the model file.
    pub path: *const c_char,
    /// Name of the device.
    pub device: *const c_char,
    /// "fp32", "tf32", "fp16" or "bf16".
    pub precision: *const c_char,
    /// Number of host threads of an instance.
    pub threads: u32,
    /// Set to 1 if batches have only shapes that were warmed up.
    pub fixed_shapes: u32,
    /// Number of inputs.
    pub input_count: u32,
    /// Number of outputs.
    pub output_count: u32,
    /// Specs of the inputs.
    pub inputs: *const TensorSpec,
    /// Specs of the outputs.
    pub outputs: *const TensorSpec,
}

/// A plug-in's model.
pub enum Model {}
/// A plug-in's instance.
pub enum Instance {}

/// Function `warm_up`, with the inputs and outputs of a batch.
pub type WarmUp = unsafe extern "C" fn(
    instance: *mut Instance,
    inputs: *const Tensor,
    input_count: u32,
    outputs: *const Tensor,
    output_count: u32,
    error: Text,
) -> Status;

/// Function `begin`, with a slot and the inputs and outputs of a batch.
pub type Begin = unsafe extern "C" fn(
    instance: *mut Instance,
    slot: u32,
    inputs: *const Tensor,
    input_count: u32,
    outputs: *const Tensor,
    output_count: u32,
    error: Text,
) -> Status;

/// Function `wait` or `finish`, with a slot.
pub type Wait = unsafe extern "C" fn(instance: *mut Instance, slot: u32, error: Text) -> Status;

/// Settings of a language model.
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

/// Room of an instance of a language model.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct TokenRoom {
    pub slots: u32,
    pub reserved: u32,
    pub cache_bytes: u64,
}

/// Result of a step for a sample.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct TokenEvent {
    pub sample: u64,
    pub ids: *const i32,
    pub count: u32,
    pub is_last: u32,
}

/// A plug-in's language model.
pub enum TokenModel {}
/// A plug-in's instance of a language model.
pub enum TokenInstance {}

/// Function `submit`, with a sample's number, its ids and their number, and the minimum and maximum
/// number of ids of the output.
pub type Submit = unsafe extern "C" fn(
    instance: *mut TokenInstance,
    sample: u64,
    ids: *const i32,
    count: u32,
    least: u32,
    most: u32,
    error: Text,
) -> Status;

/// Table of functions for language models.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct TokenEngine {
    pub size: u32,
    pub event_size: u32,
    pub load:
        Option<unsafe extern "C" fn(*const TokenSettings, *mut *mut TokenModel, Text) -> Status>,
    pub unload: Option<unsafe extern "C" fn(*mut TokenModel)>,
    pub open: Option<
        unsafe extern "C" fn(
            *mut TokenModel,
            *mut *mut TokenInstance,
            *mut TokenRoom,
            Text,
        ) -> Status,
    >,
    pub close: Option<unsafe extern "C" fn(*mut TokenInstance)>,
    pub warm_up: Option<unsafe extern "C" fn(*mut TokenInstance, Text) -> Status>,
    pub submit: Option<Submit>,
    pub step: Option<
        unsafe extern "C" fn(*mut TokenInstance, *mut TokenEvent, u32, *mut u32, Text) -> Status,
    >,
    pub cancel: Option<unsafe extern "C" fn(*mut TokenInstance, u64)>,
}

/// Table of functions.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct Engine {
    pub abi: u32,
    pub size: u32,
    pub tensor_size: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub devices: Option<unsafe extern "C" fn(*mut Device, u32, *mut u32, Text) -> Status>,
    pub load: Option<unsafe extern "C" fn(*const ModelSettings, *mut *mut Model, Text) -> Status>,
    pub unload: Option<unsafe extern "C" fn(*mut Model)>,
    pub open: Option<unsafe extern "C" fn(*mut Model, *mut *mut Instance, Text) -> Status>,
    pub close: Option<unsafe extern "C" fn(*mut Instance)>,
    pub in_flight: Option<unsafe extern "C" fn(*const Instance) -> u32>,
    pub allocate:
        Option<unsafe extern "C" fn(*mut Instance, u64, *mut *mut c_void, Text) -> Status>,
    pub release: Option<unsafe extern "C" fn(*mut Instance, *mut c_void)>,
    pub warm_up: Option<WarmUp>,
    pub begin: Option<Begin>,
    pub finish: Option<Wait>,
    pub tokens: *const TokenEngine,
    pub wait: Option<Wait>,
}
