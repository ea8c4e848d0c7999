//! Strings whose addresses a plug-in receives.

use std::ffi::{CString, c_char};

use crate::error::PluginError;

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
