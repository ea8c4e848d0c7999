//! What both programs ask the system for, within limits.
//!
//! - `files.rs`: files that a user, a submission or a data set names. Only regular ones are read, and only up to a size.
//! - `memory.rs`: memory whose size a user, a file or a peer chooses. What there is not is refused, by number.

pub mod files;
pub mod memory;
