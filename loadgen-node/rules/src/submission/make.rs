//! Makes a submission: the draft is written beside its place, checked as any submission is, and moved there if it holds.

use std::{io, path::Path};

use super::refusals::Refusals;
use crate::{
    book::Table,
    check::{Options, check},
    drafting::{
        documents,
        draft::draft,
        folder::{Beside, Tree, is_folder_name, is_inside},
        gap::{Gap, listed},
        submission_toml::Settings,
    },
    record::Division,
    sources_digest::Source,
};

/// Why no submission was made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// Everything that stands against it, each with what to do.
    #[error("no submission was made:\n{}", listed(.0))]
    Refused(Vec<Gap>),
    /// The folder is there already, or cannot be written.
    #[error(transparent)]
    Folder(#[from] io::Error),
}

/// What stands against a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// A rule that is broken, or of which it cannot be told.
    Strict,
    /// A rule that is broken.
    Usual,
    /// Nothing: it may be made of runs that no submission can have, and says so.
    Rehearsal,
}

/// A submission that was made.
#[derive(Debug)]
pub struct Made {
    /// Its files.
    pub tree: Tree,
    /// The rules of its division of which it cannot be told whether they are kept, each with what to do.
    pub open: Vec<String>,
}

/// Makes the submission in the new folder `output`, which is there as a whole or not at all.
///
/// `base` is the folder that paths of the settings start from, `sources` are the program's own.
///
/// # Errors
///
/// When settings are missing or wrong, or when a check of the tree would find what stands against it in its division.
pub fn make(
    settings: &Settings,
    base: &Path,
    table: &Table,
    sources: &[Source<'_>],
    strictness: Strictness,
    output: &Path,
) -> Result<Made, MakeError> {
    let mut draft = draft(settings, base, table, sources);
    let mut refused = std::mem::take(&mut draft.gaps);
    let of_rules = |text: String| Gap { file: None, text };
    // A tree without a place, or with a file outside of it, is not written at all; the gaps say why.
    let has_division = settings.division.is_some_and(|one| one != Division::Exploratory);
    let has_place = has_division && is_folder_name(&draft.home.submitter);
    if !has_place || !draft.tree.keys().all(|path| is_inside(path)) {
        return Err(MakeError::Refused(refused));
    }
    let beside = Beside::new(output)?;
    let is_open = settings.division == Some(Division::Open);
    if is_open {
        // The list of rules comes out of the check.
        draft.note(documents::why_open(settings, &draft.rehearsed, &draft.open, None));
    }
    beside.write(&draft.tree)?;
    let report = match check(beside.path(), table, &Options::default()) {
        Ok(report) => report,
        Err(error) => {
            refused.push(of_rules(error.to_string()));
            return Err(MakeError::Refused(refused));
        }
    };
    let home = &draft.home.root();
    let found = Refusals { report: &report, part: beside.path(), home, runs: &draft.runs };
    let open = if is_open { Vec::new() } else { found.open() };
    let is_rehearsal = strictness == Strictness::Rehearsal;
    if refused.is_empty() {
        if !is_rehearsal {
            refused.extend(found.refused(is_open).into_iter().map(of_rules));
        }
        if strictness == Strictness::Strict {
            refused.extend(open.iter().cloned().map(of_rules));
        }
    } else {
        // The gaps are the reason for everything that the tree lacks.
        refused.extend(found.of_runs(is_open).into_iter().map(of_rules));
    }
    if !refused.is_empty() {
        return Err(MakeError::Refused(refused));
    }
    let noted = found.noted(is_open);
    if is_open {
        draft.note(documents::why_open(settings, &draft.rehearsed, &draft.open, Some(&noted)));
    }
    if is_rehearsal {
        draft.note(documents::rehearsal(&noted));
    }
    beside.write(&draft.tree)?;
    beside.finish()?;
    Ok(Made { tree: draft.tree, open })
}
