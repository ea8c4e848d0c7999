//! Data sets by name.

use std::path::Path;

use bytes::Bytes;

use crate::{
    error::DatasetError,
    folder::Folder,
    ids::Ids,
    joined::Joined,
    manifest::Manifest,
    npy::{Array, Npy},
    sample::Dataset,
    sample_file::SampleFile,
    synthetic::Synthetic,
    synthetic_ids::SyntheticIds,
    verified::Verified,
};

/// The data set of the demo: 500 held-out handwritten digits (`deploy/digits/README.md`).
pub const DIGITS: &str = "digits";
const DIGITS_IMAGES: &[u8] = include_bytes!("../../../deploy/digits/images.npy");

/// The data set of the demo's language model: 500 held-out prompts (`deploy/sorting/README.md`).
pub const SORTING: &str = "sorting";
const SORTING_PROMPTS: &[u8] = include_bytes!("../../../deploy/sorting/prompts.ids");

/// The data sets that are part of the program.
pub const EMBEDDED: [&str; 2] = [DIGITS, SORTING];

/// Opens the data set of that name: `digits`, `sorting`, `synthetic:COUNTxBYTES[@SEED]`,
/// `synthetic-ids:COUNTxLEAST-MOST[@SEED]`, a `.npy` file, a file of token ids ([`crate::write_ids`]), or a folder; or several, joined by `+`, whose samples have the
/// tensors of each.
pub fn open(name: &str) -> Result<Box<dyn Dataset>, DatasetError> {
    if name == DIGITS {
        let array = Array::parse("digits (embedded)", Bytes::from_static(DIGITS_IMAGES))?;
        return Ok(Box::new(Npy::of_array(DIGITS.into(), array)?));
    }
    if name == SORTING {
        let file = SampleFile::embedded(SORTING, SORTING_PROMPTS);
        return Ok(Box::new(Ids::open(SORTING.as_ref(), file)?));
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
    let data = on_disk(path)?;
    Ok(match Manifest::beside(path)? {
        Some(manifest) => Box::new(Verified::new(data, manifest)?),
        None => data,
    })
}

fn on_disk(path: &Path) -> Result<Box<dyn Dataset>, DatasetError> {
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
