//! One side of a comparison.

use std::{fs, path::Path};

use serde::Serialize;

use crate::{RunError, output, recording::run::RecordedRun};

/// A run, or several of the same settings.
#[derive(Debug, Serialize)]
pub(crate) struct Side {
    /// The folder, as it was given.
    pub(crate) name: String,
    /// Names of the runs' folders.
    pub(crate) folders: Vec<String>,
    #[serde(skip)]
    pub(crate) runs: Vec<RecordedRun>,
}

impl Side {
    /// A run's folder, or a folder with runs in it.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        let mut runs = Vec::new();
        if folder.join(output::RESULT).exists() {
            runs.push(RecordedRun::read(folder)?);
        } else {
            let failed = |error| RunError::Usage(format!("{}: {error}", folder.display()));
            for entry in fs::read_dir(folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.join(output::RESULT).exists() {
                    runs.push(RecordedRun::read(&path)?);
                }
            }
            runs.sort_by(|a, b| a.folder.cmp(&b.folder));
        }
        if runs.is_empty() {
            return Err(RunError::Usage(format!(
                "{} holds no run: there is no result.json in it, nor in a folder in it",
                folder.display()
            )));
        }
        Ok(Self {
            name: folder.display().to_string(),
            folders: runs.iter().map(RecordedRun::name).collect(),
            runs,
        })
    }

    /// What all runs of all sides have to share, or there is nothing to compare.
    pub(crate) fn check_alike(sides: &[Self]) -> Result<(), RunError> {
        let kind = |run: &RecordedRun| {
            let result = &run.result;
            format!("{} {} {}", result.benchmark, result.scenario, result.mode)
        };
        let mut runs = sides.iter().flat_map(|side| &side.runs);
        let Some(first) = runs.next() else { return Ok(()) };
        match runs.find(|run| kind(run) != kind(first)) {
            None => Ok(()),
            Some(other) => Err(RunError::Usage(format!(
                "{} is {}, and {} is {}: only runs of one benchmark, scenario and mode can be compared",
                first.folder.display(),
                kind(first),
                other.folder.display(),
                kind(other)
            ))),
        }
    }
}
