//! Side of a comparison.

use std::{fs, path::Path};

use serde::Serialize;

use super::{endpoints, fabric, run, subject::Subject};
use crate::{
    RunError, output,
    recording::{RecordedRun, folder_name},
};

/// Side of a comparison: a subject, or several subjects with the same settings.
#[derive(Debug, Serialize)]
pub(crate) struct Side {
    /// Path of the folder, as on the command line.
    pub(crate) name: String,
    /// Names of the subjects' folders.
    pub(crate) folders: Vec<String>,
    #[serde(skip)]
    pub(crate) subjects: Vec<Subject>,
}

impl Side {
    /// Reads a folder that contains a subject, or whose subfolders contain subjects.
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
                "{} contains nothing to compare: neither the folder nor its subfolders have a result.json, fabric.json or result_summary.json; \
                 give the --output folder of a run or of `loadgen-node fabric`, or a folder of MLPerf Endpoints",
                folder.display()
            )));
        }
        Ok(Self {
            name: folder.display().to_string(),
            folders: subjects.iter().map(|subject| folder_name(&subject.folder)).collect(),
            subjects,
        })
    }

    /// Fails if subjects cannot be compared with each other, or if a side has subjects of several
    /// kinds.
    pub(crate) fn check_alike(sides: &[Self]) -> Result<(), RunError> {
        let all: Vec<_> = sides.iter().flat_map(|side| &side.subjects).collect();
        for (number, one) in all.iter().enumerate() {
            let mut others = all[number + 1..].iter().copied();
            refuse(one, others.find(|other| !one.kind.is_comparable(&other.kind)))?;
        }
        for Self { subjects, .. } in sides {
            let Some(first) = subjects.first() else { continue };
            refuse(first, subjects.iter().find(|other| other.kind != first.kind))?;
        }
        Ok(())
    }
}

/// Fails if there is another subject: `one` cannot be compared with it.
fn refuse(one: &Subject, other: Option<&Subject>) -> Result<(), RunError> {
    let Some(other) = other else { return Ok(()) };
    Err(RunError::Usage(format!(
        "{} is {}, but {} is {}: compare only runs of one benchmark, scenario and mode, MLPerf Endpoints results with such runs, \
         or network measurements of one kind",
        one.folder.display(),
        one.kind,
        other.folder.display(),
        other.kind
    )))
}

/// Reads the subject of a folder. Returns `None` if the folder contains no subject.
fn read(folder: &Path) -> Result<Option<Subject>, RunError> {
    if folder.join(output::RESULT).exists() {
        Ok(Some(run::subject(RecordedRun::read(folder)?)))
    } else if folder.join(output::FABRIC).exists() {
        fabric::read(folder).map(Some)
    } else if let Some(summary) = endpoints::find(folder) {
        endpoints::read(folder, &summary).map(Some)
    } else {
        Ok(None)
    }
}
