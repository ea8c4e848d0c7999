//! What both programs ask the system for, within limits.
//!
//! - `companion.rs`: files that lie beside another one and belong to it, also through links.
//! - `control_groups.rs`: the control groups of this process, which limit what it can have.
//! - `descriptors.rs`: open files, of which connections are some. The soft limit is raised to the hard one.
//! - `files.rs`: files that a user, a submission or a data set names. Only regular ones are read, and only up to a size.
//! - `kernel.rs`: what the kernel says in files.
//! - `memory.rs`: memory whose size a user, a file or a peer chooses. What there is not is refused, by number.
//! - `plain.rs`: a user's text for a library that opens it by its path.
//! - `processor.rs`: processor time.
//! - `remedy.rs`: what to do where the system refuses a file.
//! - `text.rs`: text as people write it, also on other systems.
//! - `threads.rs`: threads. tokio panics where it gets none.

pub mod companion;
pub mod control_groups;
pub mod descriptors;
pub mod files;
pub mod kernel;
pub mod memory;
pub mod plain;
pub mod processor;
mod remedy;
pub mod text;
pub mod threads;

pub use remedy::remedy;
