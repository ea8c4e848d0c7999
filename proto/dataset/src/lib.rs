//! Where samples come from: array files, a folder, or a seeded generator.

mod error;
mod folder;
mod joined;
mod npy;
mod npy_header;
mod open;
mod sample;
mod sample_file;
mod synthetic;

pub use error::DatasetError;
pub use npy::labels;
pub use open::{DIGITS, digits_labels, labels_of_file, open};
pub use sample::{Dataset, Sample, Tensor};
