//! Makes a submission: writes the draft beside its output folder, checks it like any submission,
//! and moves it there if it passes.

use std::{io, path::Path};

use super::refusals::{DraftFindings, of_single_runs};
use crate::{
    book::Table,
    check::{Options, check},
    drafting::{
        documents,
        draft::draft,
        folder::{FileTree, StagedFolder, is_inside},
        gap::{Gap, format_gaps},
        sources::SourceFile,
        submission_toml::SubmissionSettings,
    },
    record::Division,
};

/// Reason why no submission was made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// All findings and faults that prevent the submission, each with its remedy.
    #[error("no submission was made:\n{}", format_gaps(.0))]
    Refused(Vec<Gap>),
    /// The output folder exists already, or cannot be written.
    #[error(transparent)]
    Folder(#[from] io::Error),
}

/// Strictness of [`make`]: determines the findings that prevent a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Broken rules and rules that cannot be judged prevent a submission.
    Strict,
    /// Broken rules prevent a submission. Outside of the Open division, a rule about the machines
    /// of a run also prevents it if the rule cannot be judged.
    Usual,
    /// No finding prevents a rehearsal. Its tree may contain runs that no submission can have, and
    /// states that.
    Rehearsal,
}

/// Submission that was made.
#[derive(Debug)]
pub struct NewSubmission {
    /// Files of the submission.
    pub tree: FileTree,
    /// Rules of its division that cannot be judged, each with its remedy.
    pub open: Vec<String>,
}

/// Makes the submission in the new folder `output`, which is complete or missing afterwards.
///
/// Paths in the settings are relative to `base`. `sources` are the sources of this program.
///
/// # Errors
///
/// Fails if settings are missing or invalid, if `output` exists or cannot be written, or if the
/// check of the tree has findings that `strictness` does not accept.
pub fn make(
    settings: &SubmissionSettings,
    base: &Path,
    table: &Table,
    sources: &[SourceFile<'_>],
    strictness: Strictness,
    output: &Path,
) -> Result<NewSubmission, MakeError> {
    let mut draft = draft(settings, base, table, sources);
    let mut refused = std::mem::take(&mut draft.gaps);
    let of_rules = |text: String| Gap { file: None, text };
    refused.extend(of_single_runs(settings, base, table, &draft.runs));
    // A tree without runs or without a path, or with a file outside of it, is not written; the gaps
    // contain the reason.
    let has_division = settings.division.is_some_and(|one| one != Division::Exploratory);
    if draft.runs.is_empty() || !has_division || !draft.tree.keys().all(|path| is_inside(path)) {
        return Err(MakeError::Refused(refused));
    }
    let beside = StagedFolder::new(output)?;
    let is_open = settings.division == Some(Division::Open);
    if is_open {
        // The check below determines the rules that this document lists.
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
    let found = DraftFindings {
        report: &report,
        part: beside.path(),
        home,
        runs: &draft.runs,
        tree: &draft.tree,
    };
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
        // The gaps explain all that the tree lacks: add only findings about runs.
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
    Ok(NewSubmission { tree: draft.tree, open })
}
