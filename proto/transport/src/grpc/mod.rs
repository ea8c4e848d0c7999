//! gRPC: HTTP/2 with tonic and hyper.
//!
//! `Describe`, `Flush`, `Digests` and `Measure` are ordinary unary calls. `Infer` has its own
//! bodies (`body.rs`), so that its messages are not copied; the bytes on the wire are the same as
//! with generated code.

mod body;
mod client;
mod connection_end;
mod listener;
mod pending_peer;
mod service;
mod wire;

pub(crate) use client::GrpcClient;
pub use connection_end::Http2Close;
pub use listener::{Incoming, incoming};
pub use service::{Guarded, SutNodeService};
pub use wire::Wire;
