//! gRPC: HTTP/2 by tonic and hyper.
//!
//! `Describe` and `Flush` are ordinary calls. `Infer` goes through bodies of our own (`body.rs`), so that its
//! messages are not copied; on the wire it is the same as what generated code sends.

mod body;
mod client;
mod ending;
mod listener;
mod newcomer;
mod service;

pub(crate) use client::Client;
pub use listener::{Incoming, Wire, incoming};
pub use service::SutNodeService;
