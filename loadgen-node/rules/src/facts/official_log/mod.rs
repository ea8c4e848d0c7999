//! Readers of LoadGen's own logs, which decide a result.

mod accuracy;
mod detail;
mod figures;
mod log_ends;
pub(crate) mod readable_entries;
mod summary;

pub(crate) use accuracy::for_each_entry;
pub use accuracy::{LoggedResponse, read_responses, responses};
pub use detail::DetailLog;
pub use figures::{latencies, metric, set_figures, token_metric};
pub(crate) use figures::{max_latency, test_duration};
pub use log_ends::check_ends;
pub(crate) use log_ends::{TruncatedLog, is_truncated};
pub(crate) use summary::{Score, Summary};

use std::{collections::BTreeMap, fs, path::Path};

use crate::input::files;

/// Error of a log that cannot be read: the path and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct LogError {
    path: String,
    why: String,
}

impl LogError {
    fn new(path: &Path, why: impl ToString) -> Self {
        Self { path: path.display().to_string(), why: why.to_string() }
    }
}

/// Returns the SHA-256 of LoadGen's log files in a folder, in hex, by file name.
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

/// Returns the SHA-256 of a file, in hex.
pub fn digest(path: &Path) -> Result<String, LogError> {
    files::sha256(path).map_err(|error| LogError::new(path, error))
}
