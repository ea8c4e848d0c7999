//! A plug-in's table of functions for language models, checked.

use std::path::Path;

use crate::{
    abi::{self, Status, Text},
    error::PluginError,
};

/// Functions for language models. All are present; the header explains them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenFunctions {
    pub(crate) load:
        unsafe extern "C" fn(*const abi::TokenSettings, *mut *mut abi::TokenModel, Text) -> Status,
    pub(crate) unload: unsafe extern "C" fn(*mut abi::TokenModel),
    pub(crate) open: unsafe extern "C" fn(
        *mut abi::TokenModel,
        *mut *mut abi::TokenInstance,
        *mut abi::TokenRoom,
        Text,
    ) -> Status,
    pub(crate) close: unsafe extern "C" fn(*mut abi::TokenInstance),
    pub(crate) warm_up: unsafe extern "C" fn(*mut abi::TokenInstance, Text) -> Status,
    pub(crate) submit: abi::Submit,
    pub(crate) step: unsafe extern "C" fn(
        *mut abi::TokenInstance,
        *mut abi::TokenEvent,
        u32,
        *mut u32,
        Text,
    ) -> Status,
    pub(crate) cancel: unsafe extern "C" fn(*mut abi::TokenInstance, u64),
}

impl TokenFunctions {
    /// Returns the functions of a table; `None` if the table is null. `path` names the plug-in in
    /// errors.
    ///
    /// # Safety
    ///
    /// `table` is null, or points at a table of the header's form that lives until the process
    /// ends.
    pub(crate) unsafe fn of(
        path: &Path,
        table: *const abi::TokenEngine,
    ) -> Result<Option<Self>, PluginError> {
        if table.is_null() {
            return Ok(None);
        }
        // SAFETY: the table starts with its own size and the size of an event.
        let [size, event_size] = unsafe { *table.cast::<[u32; 2]>() };
        let (ours, our_event) = (size_of::<abi::TokenEngine>(), size_of::<abi::TokenEvent>());
        PluginError::compare_size(path, "netdiv_token_engine", size, ours)?;
        PluginError::compare_size(path, "netdiv_token_event", event_size, our_event)?;
        // SAFETY: it has this size.
        let functions = functions(unsafe { &*table });
        let missing = |function| PluginError::Missing { path: path.into(), function };
        functions.map(Some).map_err(missing)
    }
}

/// Returns the functions, or the name of the first missing one.
fn functions(table: &abi::TokenEngine) -> Result<TokenFunctions, &'static str> {
    Ok(TokenFunctions {
        load: table.load.ok_or("tokens.load")?,
        unload: table.unload.ok_or("tokens.unload")?,
        open: table.open.ok_or("tokens.open")?,
        close: table.close.ok_or("tokens.close")?,
        warm_up: table.warm_up.ok_or("tokens.warm_up")?,
        submit: table.submit.ok_or("tokens.submit")?,
        step: table.step.ok_or("tokens.step")?,
        cancel: table.cancel.ok_or("tokens.cancel")?,
    })
}
