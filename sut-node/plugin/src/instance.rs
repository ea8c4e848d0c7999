//! An instance of a model, which one engine thread owns.

use std::{
    ptr::{self, NonNull},
    sync::Arc,
};

use netdiv_contract::layout::DataType;
use parking_lot::Mutex;

use crate::{
    abi,
    call::call,
    error::PluginError,
    handle::{InstanceHandle, ModelHandle},
    memory::PluginTensor,
};

/// An instance, with its batches in progress.
#[derive(Debug)]
pub struct PluginInstance {
    handle: Arc<InstanceHandle>,
    slots: Vec<Slot>,
    /// Number of the next batch.
    next: u64,
}

#[derive(Debug, Default)]
struct Slot {
    /// Batch in the slot with its number. The owner reads it without waiting for a waiter.
    batch: Option<(u64, Batch)>,
    /// Number of the batch in the slot. A waiter locks it while it waits, so that the batch is not
    /// finished meanwhile.
    number: Arc<Mutex<Option<u64>>>,
}

/// A batch in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHandle {
    slot: usize,
    number: u64,
}

/// Waiter for an instance's batches, on another thread.
#[derive(Debug)]
pub struct Waiter {
    instance: *mut abi::Instance,
    wait: abi::Wait,
    slots: Vec<Arc<Mutex<Option<u64>>>>,
    /// Keeps the instance open.
    _handle: Arc<InstanceHandle>,
}

// SAFETY: the header lets another thread wait while a thread uses the instance.
unsafe impl Send for Waiter {}

impl Waiter {
    /// Waits until the batch is done. Returns at once if it is finished. [`Instance::finish`]
    /// reports its errors.
    pub fn wait(&self, batch: BatchHandle) {
        let Some(held) = self.slots.get(batch.slot).map(|number| number.lock()) else { return };
        if *held == Some(batch.number) {
            let slot = batch.slot as u32;
            // SAFETY: the slot holds the batch, and the lock keeps it there. The handle keeps the
            // instance open.
            let outcome = call(|error| unsafe { (self.wait)(self.instance, slot, error) });
            drop(outcome);
        }
    }
}

/// Inputs and outputs of the model.
#[derive(Debug)]
pub struct Batch {
    /// Inputs in the order of the manifest.
    pub inputs: Vec<PluginTensor>,
    /// Outputs in the order of the manifest.
    pub outputs: Vec<PluginTensor>,
}

impl PluginInstance {
    pub(crate) fn open(model: Arc<ModelHandle>) -> Result<Self, PluginError> {
        let functions = model.functions;
        let mut instance = ptr::null_mut();
        {
            let _alone = model.table.lock_exclusive();
            // SAFETY: the model is loaded.
            model.table.call(|error| unsafe {
                (functions.open)(model.model.as_ptr(), &mut instance, error)
            })?;
        }
        let instance = NonNull::new(instance).ok_or_else(|| {
            PluginError::Failed("open returned neither an instance nor an error".into())
        })?;
        // SAFETY: the instance is open, and only this thread has it.
        let in_flight = unsafe { (functions.in_flight)(instance.as_ptr()) };
        let handle = Arc::new(InstanceHandle::new(model, instance));
        // Each slot costs a set of staging memory, and no device gains from more.
        let slots = (0..in_flight.clamp(1, 8)).map(|_| Slot::default()).collect();
        Ok(Self { handle, slots, next: 0 })
    }

    /// Returns the maximum number of batches in progress.
    pub fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// Returns a waiter for the instance's batches; `None` if the plug-in does not support it.
    pub fn waiter(&self) -> Option<Waiter> {
        let wait = self.handle.functions().wait?;
        let slots = self.slots.iter().map(|slot| slot.number.clone()).collect();
        let instance = *self.handle.lock();
        Some(Waiter { instance, wait, slots, _handle: self.handle.clone() })
    }

    /// Returns the batch in a slot, to wait for.
    pub fn batch_in(&self, slot: usize) -> Option<BatchHandle> {
        let (number, _) = self.slots.get(slot)?.batch.as_ref()?;
        Some(BatchHandle { slot, number: *number })
    }

    /// Returns the reason why the device is lost to this process; `None` if it is not. The plug-in
    /// is not called after a loss.
    pub fn loss_reason(&self) -> Option<&str> {
        self.handle.table().loss_reason()
    }

    /// Allocates a tensor in memory that the device reads directly, filled with zeros. The shape
    /// includes the batch.
    pub fn tensor(
        &self,
        data_type: DataType,
        shape: &[usize],
    ) -> Result<PluginTensor, PluginError> {
        PluginTensor::new(self.handle.clone(), data_type, shape)
    }

    /// Runs a batch of zeros, and compares the model's outputs with the expected shapes.
    pub fn warm_up(&mut self, batch: &Batch) -> Result<(), PluginError> {
        let (inputs, outputs) = batch.raw();
        let instance = self.handle.lock();
        let warm_up = self.handle.functions().warm_up;
        // SAFETY: the tensors live through the call.
        self.handle.table().call(|error| unsafe {
            let (ins, outs) = (inputs.len() as u32, outputs.len() as u32);
            warm_up(*instance, inputs.as_ptr(), ins, outputs.as_ptr(), outs, error)
        })
    }

    /// Returns a slot that holds no batch.
    pub fn free_slot(&self) -> Option<usize> {
        self.slots.iter().position(|slot| slot.batch.is_none())
    }

    /// Begins a batch in a free slot. `finish` returns the batch, or this function on error.
    pub fn begin(&mut self, slot: usize, batch: Batch) -> Result<(), (PluginError, Batch)> {
        let free = self.slots.get_mut(slot).filter(|slot| slot.batch.is_none());
        let Some(free) = free else {
            return Err((PluginError::Failed(format!("slot {slot} is not free")), batch));
        };
        let (inputs, outputs) = batch.raw();
        let begun = {
            let instance = self.handle.lock();
            let begin = self.handle.functions().begin;
            // SAFETY: the slot is free. The tensors' memory is not touched until `finish`: the slot
            // keeps the batch, and a move of the batch does not move the memory.
            self.handle.table().call(|error| unsafe {
                let (ins, outs) = (inputs.len() as u32, outputs.len() as u32);
                begin(*instance, slot as u32, inputs.as_ptr(), ins, outputs.as_ptr(), outs, error)
            })
        };
        match begun {
            Ok(()) => {
                free.batch = Some((self.next, batch));
                *free.number.lock() = Some(self.next);
                self.next += 1;
                Ok(())
            }
            Err(error) => Err((error, batch)),
        }
    }

    /// Waits for a slot's batch, and returns it with its outcome; `None` if the slot is empty.
    pub fn finish(&mut self, slot: usize) -> Option<(Batch, Result<(), PluginError>)> {
        let held = self.slots.get_mut(slot)?;
        let (_, batch) = held.batch.take()?;
        let mut number = held.number.lock();
        *number = None;
        let instance = self.handle.lock();
        let finish = self.handle.functions().finish;
        // SAFETY: the slot holds a batch, and no waiter waits for it.
        let finished =
            self.handle.table().call(|error| unsafe { finish(*instance, slot as u32, error) });
        Some((batch, finished))
    }
}

impl Batch {
    fn raw(&self) -> (Vec<abi::Tensor>, Vec<abi::Tensor>) {
        let raw = |tensors: &[PluginTensor]| tensors.iter().map(PluginTensor::raw).collect();
        (raw(&self.inputs), raw(&self.outputs))
    }
}

impl Drop for PluginInstance {
    /// Finishes all batches: the plug-in must not write to memory that is released.
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            drop(self.finish(slot));
        }
    }
}
