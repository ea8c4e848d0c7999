//! Handle that owns a plug-in's language model, and unloads it when dropped; the model's settings.

use std::{path::PathBuf, ptr::NonNull, sync::Arc};

use crate::{
    abi::{self, TokenFunctions},
    handle::Strings,
    model::Precision,
    table::Table,
};

/// Settings with which a plug-in loads a language model.
#[derive(Debug, Clone)]
pub struct PluginTokenSettings {
    /// Path of the model file.
    pub path: PathBuf,
    /// Name of the device to load the model onto.
    pub device: String,
    /// Type of the weights.
    pub precision: Precision,
    /// Maximum number of host threads that an instance may use.
    pub threads: usize,
    /// Number of token ids, which start at 0.
    pub vocabulary: u32,
    /// Maximum number of ids of a prompt.
    pub longest_prompt: u32,
    /// Maximum number of ids of an output.
    pub longest_output: u32,
    /// Maximum number of samples in flight in an instance.
    pub slots: u32,
    /// Maximum number of prompt ids that a step computes.
    pub chunk: u32,
    /// Memory for the keys and values of an instance, in bytes; 0: as much as the slots need.
    pub cache_bytes: u64,
    /// Number of beams of the beam search; 1: greedy search.
    pub beams: u32,
    /// Ids that end an output and are part of it.
    pub ends: Vec<i32>,
}

/// A plug-in's language model. Each of its instances shares this handle; dropping the last one
/// unloads the model.
#[derive(Debug)]
pub(crate) struct TokenModelHandle {
    pub(crate) table: Arc<Table>,
    pub(crate) functions: TokenFunctions,
    pub(crate) model: NonNull<abi::TokenModel>,
    /// Settings. The plug-in may read their ids, and the strings below, until the model is
    /// unloaded.
    pub(crate) settings: PluginTokenSettings,
    pub(crate) _strings: Strings,
}

// SAFETY: the header lets several threads use a model, one at a time for load, unload, open and
// close, which `Table::lock_exclusive` ensures. Strings and settings never change.
unsafe impl Send for TokenModelHandle {}
// SAFETY: as above.
unsafe impl Sync for TokenModelHandle {}

impl Drop for TokenModelHandle {
    fn drop(&mut self) {
        let _alone = self.table.lock_exclusive();
        if self.table.loss_reason().is_some() {
            return;
        }
        // SAFETY: instances hold the handle, so no instance is left; strings and settings are
        // dropped after this.
        unsafe { (self.functions.unload)(self.model.as_ptr()) }
    }
}
