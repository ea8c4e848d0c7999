//! What both programs ask the system for, within limits.
//!
//! - `control_groups.rs`: the control groups of this process, which limit what it can have.
//! - `descriptors.rs`: open files, of which connections are some. The soft limit is raised to the hard one.
//! - `files.rs`: files that a user, a submission or a data set names. Only regular ones are read, and only up to a size.
//! - `memory.rs`: memory whose size a user, a file or a peer chooses. What there is not is refused, by number.
//! - `processor.rs`: processor time.

pub mod control_groups;
pub mod descriptors;
pub mod files;
pub mod memory;
pub mod processor;
