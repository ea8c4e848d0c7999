//! Handles that own a plug-in's models and instances: dropping a handle unloads or closes them.
//! Strings whose addresses a plug-in receives.

use std::{
    ffi::{CString, c_char},
    ptr::NonNull,
    sync::Arc,
};

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use crate::{
    abi::{self, Functions},
    error::PluginError,
    table::Table,
};

/// A plug-in's model. Each of its instances shares this handle; dropping the last one unloads it.
#[derive(Debug)]
pub(crate) struct ModelHandle {
    pub(crate) table: Arc<Table>,
    pub(crate) functions: Functions,
    pub(crate) model: NonNull<abi::Model>,
    /// Strings and specs, which the plug-in may read until the model is unloaded.
    pub(crate) _strings: Strings,
    pub(crate) _specs: [Vec<abi::TensorSpec>; 2],
}

// SAFETY: the header lets several threads use a model, one at a time for load and unload, which
// `Table::lock_exclusive` ensures.
unsafe impl Send for ModelHandle {}
// SAFETY: as above.
unsafe impl Sync for ModelHandle {}

impl Drop for ModelHandle {
    fn drop(&mut self) {
        let _alone = self.table.lock_exclusive();
        if self.table.loss_reason().is_some() {
            return;
        }
        // SAFETY: instances hold the handle, so no instance is left; the specs are dropped after
        // this.
        unsafe { (self.functions.unload)(self.model.as_ptr()) }
    }
}

/// A plug-in's instance. Its waiters and tensors share this handle; dropping the last one closes
/// it.
#[derive(Debug)]
pub(crate) struct InstanceHandle {
    pub(crate) model: Arc<ModelHandle>,
    instance: Mutex<InstancePointer>,
}

#[derive(Debug)]
struct InstancePointer(*mut abi::Instance);

// SAFETY: the header lets any thread use an instance, one at a time, which the mutex ensures.
unsafe impl Send for InstancePointer {}

impl InstanceHandle {
    /// Takes ownership of an instance that the plug-in's `open` returned.
    pub(crate) fn new(model: Arc<ModelHandle>, instance: NonNull<abi::Instance>) -> Self {
        Self { model, instance: Mutex::new(InstancePointer(instance.as_ptr())) }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.model.table
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.model.functions
    }

    /// Lets this thread use the instance exclusively, until the guard is dropped.
    pub(crate) fn lock(&self) -> MappedMutexGuard<'_, *mut abi::Instance> {
        MutexGuard::map(self.instance.lock(), |pointer| &mut pointer.0)
    }
}

impl Drop for InstanceHandle {
    fn drop(&mut self) {
        let _alone = self.model.table.lock_exclusive();
        if self.model.table.loss_reason().is_some() {
            // The instance stays open, and reads the data that its model points at.
            return std::mem::forget(self.model.clone());
        }
        let instance = self.lock();
        // SAFETY: no other owner holds the handle, so all of its memory is released and no batch is
        // in progress.
        unsafe { (self.functions().close)(*instance) }
    }
}

/// Strings that end with a zero, and do not move while this value lives.
#[derive(Debug, Default)]
pub(crate) struct Strings(Vec<CString>);

impl Strings {
    /// Stores a copy of `text`. Returns its address, which is valid while this value lives.
    pub(crate) fn add(&mut self, text: &str) -> Result<*const c_char, PluginError> {
        let text = CString::new(text)
            .map_err(|_| PluginError::Refused(format!("{text:?} holds a zero byte")))?;
        // A CString does not move its bytes when it is moved.
        let at = text.as_ptr();
        self.0.push(text);
        Ok(at)
    }
}
