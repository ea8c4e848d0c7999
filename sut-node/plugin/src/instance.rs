//! One instance of a model: what an engine thread owns.

use std::{
    ptr::{self, NonNull},
    sync::{Arc, Mutex, PoisonError},
};

use netdiv_proto::layout::DataType;

use crate::{PluginError, Tensor, abi, call::call, model};

/// An instance, and the batches that it has begun.
#[derive(Debug)]
pub struct Instance {
    handle: Arc<Handle>,
    slots: Vec<Option<Batch>>,
}

/// What the model reads and what it writes.
#[derive(Debug)]
pub struct Batch {
    /// In the order of the manifest.
    pub inputs: Vec<Tensor>,
    /// In the order of the manifest.
    pub outputs: Vec<Tensor>,
}

/// The plug-in's instance, which its memory keeps open.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) model: Arc<model::Handle>,
    instance: Mutex<InstancePointer>,
}

#[derive(Debug)]
struct InstancePointer(*mut abi::Instance);

// SAFETY: the header lets any thread use an instance, one at a time, which the mutex sees to.
unsafe impl Send for InstancePointer {}

/// The instance, for as long as this thread may use it.
pub(crate) struct Locked<'a>(std::sync::MutexGuard<'a, InstancePointer>);

impl std::ops::Deref for Locked<'_> {
    type Target = *mut abi::Instance;

    fn deref(&self) -> &Self::Target {
        &self.0.0
    }
}

impl Handle {
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked(self.instance.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _alone = self.model.plugin.alone();
        let instance = self.lock();
        // SAFETY: nobody else holds the handle, so all of its memory is released and no batch is under way.
        unsafe { (self.model.plugin.functions.close)(*instance) }
    }
}

impl Instance {
    pub(crate) fn open(model: Arc<model::Handle>) -> Result<Self, PluginError> {
        let functions = &model.plugin.functions;
        let mut instance = ptr::null_mut();
        {
            let _alone = model.plugin.alone();
            // SAFETY: the model is loaded.
            call(|error| unsafe { (functions.open)(model.model.as_ptr(), &mut instance, error) })?;
        }
        let instance = NonNull::new(instance).ok_or_else(|| {
            PluginError::Failed("open gave neither an instance nor an error".into())
        })?;
        // SAFETY: the instance is open, and ours alone.
        let in_flight = unsafe { (functions.in_flight)(instance.as_ptr()) };
        let instance = Mutex::new(InstancePointer(instance.as_ptr()));
        let handle = Arc::new(Handle { model, instance });
        // A slot costs a set of staging memory; no device gains from more.
        let slots = (0..in_flight.clamp(1, 8)).map(|_| None).collect();
        Ok(Self { handle, slots })
    }

    /// Number of batches that can be under way at once.
    pub fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// A tensor in memory that the device reads directly, filled with zeros. The shape includes the batch.
    pub fn tensor(&self, data_type: DataType, shape: &[usize]) -> Result<Tensor, PluginError> {
        Tensor::new(self.handle.clone(), data_type, shape)
    }

    /// Runs a batch of zeros, and compares what the model gives with the outputs' shapes.
    pub fn warm_up(&mut self, batch: &Batch) -> Result<(), PluginError> {
        let (inputs, outputs) = batch.raw();
        let instance = self.handle.lock();
        let warm_up = self.handle.model.plugin.functions.warm_up;
        // SAFETY: the tensors live through the call.
        call(|error| unsafe {
            let (ins, outs) = (inputs.len() as u32, outputs.len() as u32);
            warm_up(*instance, inputs.as_ptr(), ins, outputs.as_ptr(), outs, error)
        })
    }

    /// A slot that holds no batch.
    pub fn free_slot(&self) -> Option<usize> {
        self.slots.iter().position(Option::is_none)
    }

    /// Begins a batch in a free slot. It comes back from `finish`, or with the error.
    pub fn begin(&mut self, slot: usize, batch: Batch) -> Result<(), (PluginError, Batch)> {
        let free = self.slots.get_mut(slot).filter(|held| held.is_none());
        let Some(free) = free else {
            return Err((PluginError::Failed(format!("slot {slot} is not free")), batch));
        };
        let (inputs, outputs) = batch.raw();
        let begun = {
            let instance = self.handle.lock();
            let begin = self.handle.model.plugin.functions.begin;
            // SAFETY: the slot is free. The tensors' memory is not touched until `finish`: the batch is kept here, and
            // moving it does not move the memory.
            call(|error| unsafe {
                let (ins, outs) = (inputs.len() as u32, outputs.len() as u32);
                begin(*instance, slot as u32, inputs.as_ptr(), ins, outputs.as_ptr(), outs, error)
            })
        };
        match begun {
            Ok(()) => {
                *free = Some(batch);
                Ok(())
            }
            Err(error) => Err((error, batch)),
        }
    }

    /// Waits for a slot's batch; gives it back, and whether it went well. `None` when the slot holds none.
    pub fn finish(&mut self, slot: usize) -> Option<(Batch, Result<(), PluginError>)> {
        let batch = self.slots.get_mut(slot)?.take()?;
        let instance = self.handle.lock();
        let finish = self.handle.model.plugin.functions.finish;
        // SAFETY: the slot holds a batch.
        let finished = call(|error| unsafe { finish(*instance, slot as u32, error) });
        Some((batch, finished))
    }
}

impl Batch {
    fn raw(&self) -> (Vec<abi::Tensor>, Vec<abi::Tensor>) {
        let raw = |tensors: &[Tensor]| tensors.iter().map(Tensor::raw).collect();
        (raw(&self.inputs), raw(&self.outputs))
    }
}

impl Drop for Instance {
    /// The plug-in must not write into memory that is gone.
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            drop(self.finish(slot));
        }
    }
}
