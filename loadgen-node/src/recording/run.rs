//! What a run has left in its folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    histograms::Histograms,
    series::{self, Row},
};
use crate::{
    RunError,
    output::{self, FABRIC},
    record::RunResult,
};

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct RecordedRun {
    pub(crate) folder: PathBuf,
    pub(crate) result: RunResult,
    /// Empty where the run was made before there were such records.
    pub(crate) series: Vec<Row>,
    pub(crate) histograms: Histograms,
}

impl RecordedRun {
    /// The run of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join(output::RESULT);
        let wrong = |why: &dyn std::fmt::Display| {
            RunError::Usage(format!(
                "{}: {why}; give the folder of a run that has ended (--output of `run`)",
                path.display()
            ))
        };
        if !path.exists() && folder.join(FABRIC).exists() {
            return Err(RunError::Usage(format!(
                "{} holds a measurement of a network (`loadgen-node fabric`), not a run: open the picture beside its {FABRIC}, \
                 fabric.svg or matrix.svg, or compare it with another one by `loadgen-node compare`",
                folder.display()
            )));
        }
        let json = fs::read(&path).map_err(|error| wrong(&error))?;
        let result = serde_json::from_slice(&json)
            .map_err(|error| wrong(&format!("it is no record of a run: {error}")))?;
        Ok(Self {
            folder: folder.into(),
            result,
            series: series::read(folder).map_err(RunError::Usage)?,
            histograms: Histograms::read(folder).map_err(RunError::Usage)?,
        })
    }

    /// Its folder's name, for people.
    pub(crate) fn name(&self) -> String {
        let whole = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
    }
}
