//! Engine plug-ins of the SUT node: shared libraries behind a small C ABI.
//!
//! - `include/netdiv_engine.h` is the contract; a plug-in in C or C++ needs nothing else.
//! - [`abi`] is the header in Rust, for plug-ins in Rust.
//! - [`Plugin`], [`Model`] and [`Instance`] load a plug-in and make its functions safe to call: they own what C only
//!   points at, and memory that a plug-in works on belongs to it until the batch is finished.

pub mod abi;
mod call;
mod error;
mod instance;
mod library;
mod memory;
mod model;

pub use error::PluginError;
pub use instance::{Batch, Instance};
pub use library::{DeviceInfo, Plugin, preload};
pub use memory::Tensor;
pub use model::{Model, Precision, Settings};
