//! Handle that owns a plug-in's language model: dropping it unloads the model.

use std::{ptr::NonNull, sync::Arc};

use crate::{
    abi, strings::Strings, table::Table, token_table::TokenFunctions,
    tokens::settings::PluginTokenSettings,
};

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
