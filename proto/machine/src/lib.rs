//! Description and judgement of the machine that a program runs on.
//!
//! - [`evidence`]: description of the machine, read from the system
//! - [`doctor`]: judgement: causes of poor measurements in the machine, or in the network to a node

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

pub mod doctor;
pub mod evidence;
