//! Sources of samples: array files, prompts of token ids, a folder, or a seeded generator.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod error;
mod folder;
mod ids;
mod joined;
mod labels;
mod manifest;
mod npy;
#[cfg(test)]
#[path = "../../../tests/src/npy_file.rs"]
mod npy_file;
mod npy_header;
mod open;
mod prompts;
mod sample;
mod sample_file;
mod synthetic;
mod verified;

pub use error::DatasetError;
pub use ids::write_ids;
pub use labels::Labels;
pub use manifest::Provenance;
pub use npy::labels;
pub use open::{DIGITS, EMBEDDED, SORTING, open, replace_paths};
pub use prompts::{Rows, read_prompts};
pub use sample::{Dataset, Sample, Tensor};
