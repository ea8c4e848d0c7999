//! Sources of samples: array files, prompts of token ids, a folder, a seeded generator, or a file that
//! lists several of these, one for each kind of run.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

#[cfg(test)]
extern crate self as netdiv_dataset;

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
mod parts;
#[cfg(test)]
#[path = "../../../tests/src/parts_file.rs"]
mod parts_file;
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
pub use open::{DIGITS, EMBEDDED, SORTING, open, open_part, replace_paths};
pub use parts::{has_part, has_parts, part_sources};
pub use prompts::{Rows, read_prompts};
pub use sample::{Dataset, Sample, Tensor};
