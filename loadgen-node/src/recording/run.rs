//! Records of a run, read from its folder.

use std::path::{Path, PathBuf};

use super::{
    histograms::Histograms,
    read_result,
    series::{self, SeriesRow},
};
use crate::{
    RunError,
    output::{self, FABRIC},
    record::RunResult,
};

/// A run that has ended, with its records.
#[derive(Debug)]
pub(crate) struct RecordedRun {
    pub(crate) folder: PathBuf,
    pub(crate) result: RunResult,
    /// Rows of `series.csv`. Empty for a run of an earlier version, which wrote no such file.
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) histograms: Histograms,
}

impl RecordedRun {
    /// Reads the run in a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        if !folder.join(output::RESULT).exists() && folder.join(FABRIC).exists() {
            return Err(RunError::Usage(format!(
                "{} holds a network measurement (`loadgen-node fabric`), not a run: open the picture beside its {FABRIC}, \
                 fabric.svg or matrix.svg, or compare it with another measurement by `loadgen-node compare`",
                folder.display()
            )));
        }
        let result = read_result(folder).map_err(|why| {
            RunError::Usage(format!("{why}; pass the folder of a finished run (--output of `run`)"))
        })?;
        Ok(Self {
            folder: folder.into(),
            result,
            series: series::read(folder).map_err(RunError::Usage)?,
            histograms: Histograms::read(folder).map_err(RunError::Usage)?,
        })
    }

    /// Returns the name of the folder, for display.
    pub(crate) fn name(&self) -> String {
        let whole = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
    }
}
