//! SHA-256 of LoadGen's log files.

use std::{collections::BTreeMap, fs, path::Path};

use super::LogError;
use crate::facts::files;

/// SHA-256 of LoadGen's log files in a folder, in hex, by their name.
pub fn digests(folder: &Path) -> Result<BTreeMap<String, String>, LogError> {
    let mut digests = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| LogError::new(folder, error))? {
        let path = entry.map_err(|error| LogError::new(folder, error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("mlperf_log_") {
            digests.insert(name.to_owned(), digest(&path)?);
        }
    }
    Ok(digests)
}

/// SHA-256 of a file, in hex.
pub fn digest(path: &Path) -> Result<String, LogError> {
    files::sha256(path).map_err(|error| LogError::new(path, error))
}
