#![allow(clippy::unwrap_used)]

mod fake;
mod faults;
mod http2;
mod instance;
mod pieces;
mod recorded;
mod start;
mod tls;
