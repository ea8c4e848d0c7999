//! Serving engines over gRPC.

mod faults;
mod instance;
mod recorded;
mod server;
mod siblings;
mod start;
