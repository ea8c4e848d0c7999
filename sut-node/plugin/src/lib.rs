//! Engine plug-ins of the SUT node: shared libraries behind a small C ABI.
//!
//! - `include/netdiv_engine.h` is the contract; a plug-in in C or C++ needs nothing else.
//! - [`abi`] is the header in Rust. Plug-ins in Rust use it with [`guarded`] and [`write_text`].
//! - [`Plugin`], [`PluginModel`] and [`PluginInstance`] load a plug-in and make its functions safe
//!   to call. They own the data that C only points at, and the memory of a batch belongs to the
//!   plug-in until the batch is finished.
//! - [`PluginTokenModel`] and [`PluginTokenInstance`] do the same for language models, and check
//!   every event of the plug-in.
//!
//! The node loads a *model* onto a device once, and opens *instances* of it, each for one engine
//! thread. An instance runs batches in numbered *slots*. An instance of a language model instead
//! runs *steps*, each of which continues the outputs of all samples in flight.

pub mod abi;
mod error;
mod guard;
mod handle;
mod instance;
mod library;
mod memory;
mod model;
mod table;
#[cfg(test)]
mod tests;
mod tokens;

pub use error::PluginError;
pub use guard::{guarded, write_text};
pub use instance::{Batch, BatchHandle, PluginInstance, Waiter};
pub use library::{DeviceInfo, Plugin, preload};
pub use memory::PluginTensor;
pub use model::{PluginModel, PluginModelSettings, Precision};
pub use table::{end_without_destructors, is_device_lost};
pub use tokens::{
    handle::PluginTokenSettings,
    instance::{InstanceRoom, PluginTokenInstance, StepEvent},
    model::PluginTokenModel,
};
