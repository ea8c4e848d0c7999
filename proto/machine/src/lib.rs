//! The machine that a program runs on.
//!
//! - [`evidence`]: its description, read from the system
//! - [`doctor`]: the judgement: causes that keep it, or the network to a node, from measuring well

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

pub mod doctor;
pub mod evidence;
