//! vLLM over gRPC.

mod faults;
mod instance;
mod recorded;
mod server;
mod start;
