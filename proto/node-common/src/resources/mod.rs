//! Resources of the system that both programs use, within limits.
//!
//! - `companion.rs`: files that belong to another file and are in its folder, also through links.
//! - `control_groups.rs`: control groups of this process, which limit its resources.
//! - `descriptors.rs`: file descriptors, which include connections. Raises the soft limit to the
//!   hard limit.
//! - `files.rs`: files that a user, a submission or a data set names. Reads only regular files up
//!   to a maximum length.
//! - `json.rs`: JSON whose errors name the path of the invalid value.
//! - `kernel.rs`: files of the kernel.
//! - `memory.rs`: memory whose size a user, a file or a peer chooses. Refuses unavailable memory,
//!   with figures.
//! - `plain.rs`: a user's text for a library that opens it by its path.
//! - `processor.rs`: processor time.
//! - `remedy.rs`: advice for errors of creating or writing a file.
//! - `text.rs`: text from users, also of other systems.
//! - `threads.rs`: threads. tokio panics if it cannot start one.

pub mod companion;
pub mod control_groups;
pub mod descriptors;
pub mod files;
pub mod json;
pub mod kernel;
pub mod memory;
pub mod plain;
pub mod processor;
mod remedy;
pub mod text;
pub mod threads;

pub use remedy::remedy;
