//! The engine against a server that does as it is told, and against what Triton has sent.

mod fake;
mod faults;
mod instance;
mod recorded;
