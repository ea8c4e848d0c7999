//! One side of a comparison.

use std::{fs, path::Path};

use serde::Serialize;

use super::{endpoints, fabric, run, subject::Subject};
use crate::{RunError, fabric::report::FILE, output, recording::run::RecordedRun};

/// A subject, or several of the same settings.
#[derive(Debug, Serialize)]
pub(crate) struct Side {
    /// The folder, as it was given.
    pub(crate) name: String,
    /// Names of the subjects' folders.
    pub(crate) folders: Vec<String>,
    #[serde(skip)]
    pub(crate) subjects: Vec<Subject>,
}

impl Side {
    /// The folder of a subject, or a folder with such folders in it.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        let mut subjects = Vec::new();
        if let Some(subject) = read(folder)? {
            subjects.push(subject);
        } else {
            let failed = |error| RunError::Usage(format!("{}: {error}", folder.display()));
            for entry in fs::read_dir(folder).map_err(failed)? {
                subjects.extend(read(&entry.map_err(failed)?.path())?);
            }
            subjects.sort_by(|a, b| a.folder.cmp(&b.folder));
        }
        if subjects.is_empty() {
            return Err(RunError::Usage(format!(
                "{} holds nothing to compare: there is no result.json, fabric.json or result_summary.json in it, nor in a folder in it",
                folder.display()
            )));
        }
        Ok(Self {
            name: folder.display().to_string(),
            folders: subjects.iter().map(Subject::name).collect(),
            subjects,
        })
    }

    /// What all subjects of all sides have to share, or there is nothing to compare.
    pub(crate) fn check_alike(sides: &[Self]) -> Result<(), RunError> {
        let mut subjects = sides.iter().flat_map(|side| &side.subjects);
        let Some(first) = subjects.next() else { return Ok(()) };
        match subjects.find(|subject| !first.kind.is_comparable(&subject.kind)) {
            None => Ok(()),
            Some(other) => Err(RunError::Usage(format!(
                "{} is {}, and {} is {}: only runs of one benchmark, scenario and mode, or measurements of a network, can be \
                 compared with each other",
                first.folder.display(),
                first.kind,
                other.folder.display(),
                other.kind
            ))),
        }
    }
}

/// The subject of a folder; `None` where it holds none.
fn read(folder: &Path) -> Result<Option<Subject>, RunError> {
    if folder.join(output::RESULT).exists() {
        Ok(Some(run::subject(RecordedRun::read(folder)?)))
    } else if folder.join(FILE).exists() {
        fabric::read(folder).map(Some)
    } else if let Some(summary) = endpoints::find(folder) {
        endpoints::read(&summary).map(Some)
    } else {
        Ok(None)
    }
}
