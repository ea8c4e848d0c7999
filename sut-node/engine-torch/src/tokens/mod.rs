//! Language models: prompts of token ids in, token ids out, with continuous batching.
//!
//! - this file: the C ABI (`netdiv_token_engine`)
//! - `model.rs`: a model on a device, and the entries of its file (the functions that the plug-in
//!   calls); `package.rs`: the entry `decode`, compiled ahead of time
//! - `instance.rs`: the samples in flight, and their steps
//! - `sample.rs`: a sample in flight
//! - `schedule.rs`: assigns slots to samples, and plans the work of each step
//! - `compute.rs`: a step on the device
//! - `beams.rs`: beam search
//! - `cache.rs`: keys and values
//! - `exchange.rs`: copies numbers to the device and back
//!
//! Each sample in flight has a *slot* and, in the cache of keys and values, one *row* for each of
//! its beams. A *step* computes the next token of every sample whose prompt is complete, and a
//! *part* of one or more waiting prompts. A *state* is the model's result for one token, from which
//! the next token is chosen.

mod beams;
mod cache;
mod compute;
mod exchange;
mod instance;
mod model;
mod package;
mod sample;
mod schedule;

use std::slice;

use netdiv_plugin::abi::{self, Status, Text};

use self::{instance::TokenInstance, model::LanguageModel};
use crate::guard::{drop_handle, guarded, into_handle};

/// Table of the plug-in's functions for language models.
pub(crate) static TABLE: abi::TokenEngine = abi::TokenEngine {
    size: size_of::<abi::TokenEngine>() as u32,
    event_size: size_of::<abi::TokenEvent>() as u32,
    load: Some(load),
    unload: Some(unload),
    open: Some(open),
    close: Some(close),
    warm_up: Some(warm_up),
    submit: Some(submit),
    step: Some(step),
    cancel: Some(cancel),
};

unsafe extern "C" fn load(
    settings: *const abi::TokenSettings,
    model: *mut *mut abi::TokenModel,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: the caller's settings, strings and ids.
        let loaded = unsafe { LanguageModel::load(&*settings) }?;
        // SAFETY: the caller's memory for the model.
        unsafe { into_handle(loaded, model) };
        Ok(())
    })
}

unsafe extern "C" fn unload(model: *mut abi::TokenModel) {
    // SAFETY: it is from `load` and is returned once.
    unsafe { drop_handle::<LanguageModel, _>(model) };
}

unsafe extern "C" fn open(
    model: *mut abi::TokenModel,
    instance: *mut *mut abi::TokenInstance,
    room: *mut abi::TokenRoom,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: a model from `load`, which outlives its instances.
        let opened = TokenInstance::open(unsafe { &*model.cast::<LanguageModel>() })?;
        // SAFETY: the caller's memory for the room and the instance.
        unsafe {
            *room = opened.room();
            into_handle(opened, instance);
        }
        Ok(())
    })
}

unsafe extern "C" fn close(instance: *mut abi::TokenInstance) {
    // SAFETY: it is from `open` and is returned once.
    unsafe { drop_handle::<TokenInstance<'_>, _>(instance) };
}

/// Borrows an instance for one call.
///
/// # Safety
///
/// The instance is from `open`, is not closed, and no other thread uses it.
unsafe fn borrow_instance<'a>(instance: *mut abi::TokenInstance) -> &'a mut TokenInstance<'a> {
    // SAFETY: as above.
    unsafe { &mut *instance.cast::<TokenInstance<'a>>() }
}

unsafe extern "C" fn warm_up(instance: *mut abi::TokenInstance, error: Text) -> Status {
    // SAFETY: the caller's instance.
    guarded(error, || unsafe { borrow_instance(instance) }.warm_up())
}

unsafe extern "C" fn submit(
    instance: *mut abi::TokenInstance,
    sample: u64,
    ids: *const i32,
    count: u32,
    least: u32,
    most: u32,
    error: Text,
) -> Status {
    guarded(error, || {
        let ids = match count {
            0 => &[],
            // SAFETY: the caller's ids, which live through the call.
            _ => unsafe { slice::from_raw_parts(ids, count as usize) },
        };
        // SAFETY: the caller's instance.
        unsafe { borrow_instance(instance) }.submit(sample, ids, least as usize, most as usize)
    })
}

unsafe extern "C" fn step(
    instance: *mut abi::TokenInstance,
    events: *mut abi::TokenEvent,
    room: u32,
    count: *mut u32,
    error: Text,
) -> Status {
    guarded(error, || {
        // SAFETY: the caller's instance, memory for `room` events, and memory for their number.
        unsafe {
            *count =
                borrow_instance(instance).step(slice::from_raw_parts_mut(events, room as usize))?;
        }
        Ok(())
    })
}

unsafe extern "C" fn cancel(instance: *mut abi::TokenInstance, sample: u64) {
    // SAFETY: the caller's instance.
    unsafe { borrow_instance(instance) }.cancel(sample);
}

#[cfg(test)]
mod tests;
