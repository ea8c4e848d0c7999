//! An instance of a model. One engine thread owns it, and runs batches in its numbered slots.

use std::sync::Arc;

use netdiv_contract::layout::DataType;
use parking_lot::Mutex;

use crate::{
    abi,
    error::PluginError,
    handle::{InstanceHandle, ModelHandle},
    memory::PluginTensor,
    table::call,
};

/// An instance of a model, and the batches in its slots.
#[derive(Debug)]
pub struct PluginInstance {
    handle: Arc<InstanceHandle>,
    slots: Vec<Slot>,
    /// Number of the next batch.
    next: u64,
}

#[derive(Debug, Default)]
struct Slot {
    /// Number of the batch in the slot, and the batch. The owner of the instance reads them without
    /// the lock below, which a waiter may hold.
    batch: Option<(u64, Batch)>,
    /// Number of the batch in the slot. A [`Waiter`] locks it while it waits, so that the batch is
    /// not finished meanwhile.
    number: Arc<Mutex<Option<u64>>>,
}

/// Handle of a batch in progress: its slot, and its number, which no later batch in the slot has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHandle {
    slot: usize,
    number: u64,
}

/// Waits for an instance's batches on another thread than the one that owns the instance.
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
    /// Waits until the device has computed the batch. Returns at once if [`PluginInstance::finish`]
    /// has already returned the batch. Only `finish` reports the batch's errors.
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

/// Memory of a batch: tensors for the model's inputs and outputs.
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
        // SAFETY: the model is loaded.
        let instance = model.table.open(|instance, error| unsafe {
            (functions.open)(model.model.as_ptr(), instance, error)
        })?;
        // SAFETY: the instance is open, and only this thread has it.
        let in_flight = unsafe { (functions.in_flight)(instance.as_ptr()) };
        let handle = Arc::new(InstanceHandle::new(model, instance));
        // Each slot needs its own memory for a batch, and no device gains from more than 8 slots.
        let slots = (0..in_flight.clamp(1, 8)).map(|_| Slot::default()).collect();
        Ok(Self { handle, slots, next: 0 })
    }

    /// Returns the maximum number of batches in progress, which is the number of slots.
    pub fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// Returns a waiter for the instance's batches; `None` if the plug-in does not support waiting
    /// on another thread.
    pub fn waiter(&self) -> Option<Waiter> {
        let wait = self.handle.table().wait?;
        let slots = self.slots.iter().map(|slot| slot.number.clone()).collect();
        let instance = *self.handle.lock();
        Some(Waiter { instance, wait, slots, _handle: self.handle.clone() })
    }

    /// Returns the handle of the batch in a slot, for [`Waiter::wait`]; `None` if the slot is
    /// empty.
    pub fn batch_in(&self, slot: usize) -> Option<BatchHandle> {
        let (number, _) = self.slots.get(slot)?.batch.as_ref()?;
        Some(BatchHandle { slot, number: *number })
    }

    /// Returns the reason why the device is lost to this process, `None` if it is not. After a
    /// loss, the node calls only `wait` of the plug-in.
    pub fn loss_reason(&self) -> Option<&str> {
        self.handle.table().loss_reason()
    }

    /// Allocates a tensor of zeros in memory of the plug-in, which the device reads directly if it
    /// can. The first length of `shape` is that of the batch.
    pub fn tensor(
        &self,
        data_type: DataType,
        shape: &[usize],
    ) -> Result<PluginTensor, PluginError> {
        PluginTensor::new(self.handle.clone(), data_type, shape)
    }

    /// Runs a batch, whose inputs must be zeros. The plug-in compares the shapes of the model's
    /// outputs with those in `batch`.
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

    /// Begins a batch in a slot that holds none. [`Self::finish`] returns the batch. If the batch
    /// cannot begin, it is returned with the error.
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

    /// Waits for a slot's batch. Returns the batch and its outcome; `None` if the slot is empty.
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
