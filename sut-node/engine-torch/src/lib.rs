//! The engine plug-in `torch`: TorchScript files and packages of AOTInductor on libtorch, through
//! tch.
//!
//! - this file: the C ABI (`netdiv_engine.h`)
//! - `model.rs`: a model on a device, and the instances that run its batches; `network.rs`: its
//!   network, a TorchScript file or a package; `precision.rs`: the types of its weights
//! - `package.rs`: a package on a device; `metadata.rs`: the machine and the manifest that it needs
//! - `tensors.rs`: the node's memory as tensors of libtorch
//! - `staging.rs`: memory in which batches are prepared
//! - `steps.rs`: the order in which a batch is copied and computed; `pipeline.rs`: the CUDA streams
//!   for both; `patience.rs`: waiting for the end of a batch
//! - `device.rs`: the devices; `shim.rs`: functions in C++ that tch lacks, and settings that are
//!   off by default
//! - `tokens/`: language models, which have separate functions; `stream.rs`: the CUDA stream of an
//!   instance of a language model

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod device;
mod failure;
mod guard;
mod metadata;
mod model;
mod network;
mod package;
mod patience;
mod pipeline;
mod precision;
mod shim;
mod staging;
mod steps;
mod stream;
mod tensors;
mod tokens;

use std::{cell::UnsafeCell, ffi::c_void, slice, sync::LazyLock};

use netdiv_plugin::abi::{self, Status, Text};

use crate::{
    guard::{drop_handle, guarded, into_handle},
    model::{BatchWaiter, TensorInstance, TensorModel},
};

struct Table(abi::Engine);

// SAFETY: the table is constant, and so are the objects that it points at.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// Table of the plug-in. Its version names the switches that are on (`shim.rs`), because they
/// change the rounding.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // Invalid values are refused when a model is loaded.
    let is_on = |switch: Result<bool, _>| switch.unwrap_or(false);
    let version = match (is_on(shim::uses_fuser()), is_on(shim::uses_cudnn_attention())) {
        (false, false) => c"libtorch 2.11",
        (true, false) => c"libtorch 2.11 with its fuser",
        (false, true) => c"libtorch 2.11 with cuDNN's attention",
        (true, true) => c"libtorch 2.11 with its fuser and cuDNN's attention",
    };
    Table(abi::Engine {
        abi: abi::ABI,
        size: size_of::<abi::Engine>() as u32,
        tensor_size: size_of::<abi::Tensor>() as u32,
        reserved: 0,
        name: c"torch".as_ptr(),
        version: version.as_ptr(),
        devices: Some(devices),
        load: Some(load),
        unload: Some(unload),
        open: Some(open),
        close: Some(close),
        in_flight: Some(in_flight),
        allocate: Some(allocate),
        release: Some(release),
        warm_up: Some(warm_up),
        begin: Some(begin),
        finish: Some(finish),
        tokens: &raw const tokens::TABLE,
        wait: Some(wait),
    })
});

/// An instance, at the address that the node holds.
struct InstanceHandle<'a> {
    /// Part that only one thread at a time uses.
    instance: UnsafeCell<TensorInstance<'a>>,
    /// Part that another thread may use at the same time; `None` if there is nothing to wait for.
    waiting: Option<BatchWaiter>,
}

/// Returns the plug-in's table of functions.
#[allow(unsafe_code, reason = "the name is the ABI's")]
#[unsafe(no_mangle)]
pub extern "C" fn netdiv_engine_plugin(_abi: u32) -> *const abi::Engine {
    &TABLE.0
}

unsafe extern "C" fn devices(
    devices: *mut abi::Device,
    room: u32,
    count: *mut u32,
    error: Text,
) -> Status {
    guarded(error, || {
        let found = device::entries();
        // SAFETY: the caller provides memory for `room` devices, and for their number.
        let (devices, count) =
            unsafe { (slice::from_raw_parts_mut(devices, room as usize), &mut *count) };
        *count = found.len().min(devices.len()) as u32;
        for (place, device) in devices.iter_mut().zip(&found) {
            *place = device.raw();
        }
        Ok(())
    })
}

unsafe extern "C" fn load(
    settings: *const abi::ModelSettings,
    model: *mut *mut abi::Model,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: the caller's settings, strings and specs live until unload.
        let loaded = unsafe { TensorModel::load(&*settings) }?;
        // SAFETY: the caller's memory for the model.
        unsafe { into_handle(loaded, model) };
        Ok(())
    })
}

unsafe extern "C" fn unload(model: *mut abi::Model) {
    // SAFETY: it is from `load` and is returned once.
    unsafe { drop_handle::<TensorModel, _>(model) };
}

unsafe extern "C" fn open(
    model: *mut abi::Model,
    instance: *mut *mut abi::Instance,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: a model from `load`, which outlives its instances.
        let new = TensorInstance::open(unsafe { &*model.cast::<TensorModel>() })?;
        let waiting = new.waiting();
        let opened = InstanceHandle { instance: UnsafeCell::new(new), waiting };
        // SAFETY: the caller's memory for the instance.
        unsafe { into_handle(opened, instance) };
        Ok(())
    })
}

unsafe extern "C" fn close(instance: *mut abi::Instance) {
    // SAFETY: it is from `open` and is returned once.
    unsafe { drop_handle::<InstanceHandle<'_>, _>(instance) };
}

unsafe extern "C" fn in_flight(instance: *const abi::Instance) -> u32 {
    // SAFETY: an instance from `open`.
    unsafe { borrow_instance(instance.cast_mut()) }.in_flight()
}

/// Borrows an instance for one call.
///
/// # Safety
///
/// The instance is from `open`, is not closed, and no other thread uses it.
unsafe fn borrow_instance<'a>(instance: *mut abi::Instance) -> &'a mut TensorInstance<'a> {
    // SAFETY: as above.
    unsafe { &mut *(*instance.cast::<InstanceHandle<'a>>()).instance.get() }
}

unsafe extern "C" fn allocate(
    instance: *mut abi::Instance,
    bytes: u64,
    memory: *mut *mut c_void,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: the caller's instance.
        let given = unsafe { borrow_instance(instance) }.allocate(bytes)?;
        // SAFETY: the caller's memory for the pointer.
        unsafe { *memory = given };
        Ok(())
    })
}

unsafe extern "C" fn release(instance: *mut abi::Instance, memory: *mut c_void) {
    // SAFETY: the caller's instance.
    unsafe { borrow_instance(instance) }.release(memory);
}

/// Returns the inputs or outputs of a batch: the `count` tensors at `tensors`.
///
/// # Safety
///
/// `tensors` points at `count` tensors, which live through the call.
unsafe fn tensors<'a>(tensors: *const abi::Tensor, count: u32) -> &'a [abi::Tensor] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as above.
    unsafe { slice::from_raw_parts(tensors, count as usize) }
}

unsafe extern "C" fn warm_up(
    instance: *mut abi::Instance,
    inputs: *const abi::Tensor,
    input_count: u32,
    outputs: *const abi::Tensor,
    output_count: u32,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: the caller's instance and tensors.
        let instance = unsafe { borrow_instance(instance) };
        // SAFETY: as above.
        let (inputs, outputs) =
            unsafe { (tensors(inputs, input_count), tensors(outputs, output_count)) };
        instance.warm_up(inputs, outputs)
    })
}

unsafe extern "C" fn begin(
    instance: *mut abi::Instance,
    slot: u32,
    inputs: *const abi::Tensor,
    input_count: u32,
    outputs: *const abi::Tensor,
    output_count: u32,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: the caller's instance and tensors.
        let instance = unsafe { borrow_instance(instance) };
        // SAFETY: as above.
        let (inputs, outputs) =
            unsafe { (tensors(inputs, input_count), tensors(outputs, output_count)) };
        instance.begin(slot as usize, inputs, outputs)
    })
}

unsafe extern "C" fn finish(instance: *mut abi::Instance, slot: u32, error: Text) -> Status {
    // SAFETY: the caller's instance.
    guarded(error, || unsafe { borrow_instance(instance) }.finish(slot as usize))
}

unsafe extern "C" fn wait(instance: *mut abi::Instance, slot: u32, error: Text) -> Status {
    guarded(error, || {
        // SAFETY: the caller's instance. Only this part of it is used.
        let opened = unsafe { &*instance.cast::<InstanceHandle<'_>>() };
        // SAFETY: the slot's batch is not finished before this returns, as the ABI requires.
        opened.waiting.as_ref().map_or(Ok(()), |waiting| unsafe { waiting.wait(slot as usize) })
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn the_table_is_whole_and_of_this_abi() {
        let table = netdiv_engine_plugin(abi::ABI);
        // SAFETY: the table is constant.
        let (table, name) = unsafe { (&*table, CStr::from_ptr((*table).name)) };
        // SAFETY: as above.
        let version = unsafe { CStr::from_ptr(table.version) }.to_string_lossy();
        assert!(version.starts_with(&format!("libtorch {}", metadata::LIBTORCH)), "{version}");
        assert_eq!((table.abi, table.size as usize), (abi::ABI, size_of::<abi::Engine>()));
        assert_eq!((table.tensor_size as usize, name), (size_of::<abi::Tensor>(), c"torch"));
    }

    #[test]
    fn no_tensors_need_no_pointer() {
        // SAFETY: the count is 0.
        assert!(unsafe { tensors(std::ptr::null(), 0) }.is_empty());
    }
}
