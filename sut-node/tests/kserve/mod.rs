//! The engine against a server that follows a script, and against recorded messages of Triton.

mod fake;
mod faults;
mod instance;
mod recorded;
