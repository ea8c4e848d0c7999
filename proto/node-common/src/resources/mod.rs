//! Resources of the system that both programs use, within limits.
//!
//! - `companion.rs`: files that belong to another file and are in its folder, also through links.
//! - `descriptors.rs`: file descriptors, which include connections. Raises the soft limit to the
//!   hard limit, and advises on errors of creating or writing a file.
//! - `files.rs`: files that a user, a submission or a data set names. Reads only regular files up
//!   to a maximum length.
//! - `json.rs`: JSON whose errors name the path of the invalid value.
//! - `kernel.rs`: files of the kernel, and the control groups that limit this process.
//! - `memory.rs`: memory whose size a user, a file or a peer chooses. Refuses unavailable memory,
//!   with figures.
//! - `processor.rs`: processor time.
//! - `text.rs`: text from users, also of other systems.
//! - `threads.rs`: threads. tokio panics if it cannot start one.

pub mod companion;
pub mod descriptors;
pub mod files;
pub mod json;
pub mod kernel;
pub mod memory;
pub mod processor;
pub mod text;
pub mod threads;

pub use descriptors::remedy;
