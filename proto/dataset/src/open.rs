//! Data sets by name.

use std::path::Path;

use bytes::Bytes;
use netdiv_resources::files;

use crate::{
    error::DatasetError,
    folder::Folder,
    ids::Ids,
    joined::Joined,
    npy::{Array, Npy, labels},
    sample::Dataset,
    sample_file::SampleFile,
    synthetic::Synthetic,
    synthetic_ids::SyntheticIds,
};

/// The data set of the demo: 500 held-out handwritten digits (`deploy/digits/README.md`).
pub const DIGITS: &str = "digits";
const DIGITS_IMAGES: &[u8] = include_bytes!("../../../deploy/digits/images.npy");
const DIGITS_LABELS: &[u8] = include_bytes!("../../../deploy/digits/labels.npy");

/// Opens the data set of that name: `digits`, `synthetic:COUNTxBYTES[@SEED]`, `synthetic-ids:COUNTxLEAST-MOST[@SEED]`, a
/// `.npy` file, a file of token ids ([`crate::write_ids`]), or a folder; or several, joined by `+`, whose samples have the
/// tensors of each.
pub fn open(name: &str) -> Result<Box<dyn Dataset>, DatasetError> {
    if name == DIGITS {
        let array = Array::parse("digits (embedded)", Bytes::from_static(DIGITS_IMAGES))?;
        return Ok(Box::new(Npy::of_array(DIGITS.into(), array)?));
    }
    if let Some(description) = name.strip_prefix("synthetic:") {
        return Ok(Box::new(Synthetic::parse(name, description)?));
    }
    if let Some(description) = name.strip_prefix("synthetic-ids:") {
        return Ok(Box::new(SyntheticIds::parse(name, description)?));
    }
    let path = Path::new(name);
    if !path.exists() && name.contains('+') {
        let parts = name.split('+').map(open).collect::<Result<_, _>>()?;
        return Ok(Box::new(Joined::new(name, parts)?));
    }
    let metadata = std::fs::metadata(path)
        .map_err(|error| DatasetError::Unreadable { path: path.into(), error })?;
    if metadata.is_dir() {
        return Ok(Box::new(Folder::open(path)?));
    }
    let file = SampleFile::open(path)?;
    if Ids::is(&file) {
        return Ok(Box::new(Ids::open(path, file)?));
    }
    Ok(Box::new(Npy::open(path)?))
}

/// The labels that belong to the embedded data set.
pub fn digits_labels() -> Result<Vec<i64>, DatasetError> {
    labels("digits labels (embedded)", Bytes::from_static(DIGITS_LABELS))
}

/// The labels in a `.npy` file: one whole number for each sample.
pub fn labels_of_file(path: &Path) -> Result<Vec<i64>, DatasetError> {
    let unreadable = |error| DatasetError::Unreadable { path: path.into(), error };
    let file = files::read(path, u64::MAX).map_err(unreadable)?;
    labels(&path.display().to_string(), file.into())
}
