//! A language model on a device.

use std::sync::Arc;

use crate::{
    abi,
    error::PluginError,
    handle::Strings,
    table::Table,
    tokens::{
        handle::{PluginTokenSettings, TokenModelHandle},
        instance::PluginTokenInstance,
    },
};

/// A loaded language model, shared by its instances.
#[derive(Debug, Clone)]
pub struct PluginTokenModel(Arc<TokenModelHandle>);

impl PluginTokenModel {
    pub(crate) fn load(
        table: Arc<Table>,
        settings: PluginTokenSettings,
    ) -> Result<Self, PluginError> {
        let functions = table.tokens()?;
        let mut strings = Strings::default();
        let asked = abi::TokenSettings {
            size: size_of::<abi::TokenSettings>() as u64,
            path: strings.add(&settings.path.to_string_lossy())?,
            device: strings.add(&settings.device)?,
            precision: strings.add(settings.precision.name())?,
            threads: u32::try_from(settings.threads).unwrap_or(u32::MAX),
            vocabulary: settings.vocabulary,
            longest_prompt: settings.longest_prompt,
            longest_output: settings.longest_output,
            slots: settings.slots,
            chunk: settings.chunk,
            cache_bytes: settings.cache_bytes,
            beams: settings.beams,
            end_count: settings.ends.len() as u32,
            ends: settings.ends.as_ptr(),
        };
        // SAFETY: the handle keeps the data that `asked` points at, at the same addresses.
        let load = |model, error| unsafe { (functions.load)(&asked, model, error) };
        let model = table.load(&settings.device, load)?;
        let handle = TokenModelHandle { table, functions, model, settings, _strings: strings };
        Ok(Self(Arc::new(handle)))
    }

    /// Opens an instance.
    pub fn open(&self) -> Result<PluginTokenInstance, PluginError> {
        PluginTokenInstance::open(self.0.clone())
    }
}
