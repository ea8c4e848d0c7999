//! N16: the QDL's source is in the submission, and the program that ran was built from it (rules,
//! section 6.2.1).

use std::{io, path::Path};

use crate::{
    Rule,
    drafting::sources::sources_sha256,
    grouping::NEEDS_SUBMISSION,
    input::files,
    subject::{Findings, Subject, SubmissionTree},
    tree,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "the sources of the Query Dispatch Library";
    if let Some(tree) = found.own_tree(subject, text) {
        sources(subject, tree, found);
    }
}

/// Compares the SHA-256 of the sources in the tree with the file `REVISION` and with the SHA-256
/// that each run recorded.
fn sources(subject: &Subject, tree: &SubmissionTree, found: &mut Findings) {
    let place = tree.home.sources();
    let mut at = found.at(&place);
    let files = match read_sources(&tree.path(&place)) {
        Ok(files) if files.is_empty() => {
            return at.fail(
                "the sources of the Query Dispatch Library are missing: add the sources that the program contains",
            );
        }
        Ok(files) => files,
        Err(error) => return at.fail(format!("cannot be read: {error}")),
    };
    let files: Vec<_> = files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect();
    let here = sources_sha256(&files);
    if !files.iter().any(|(path, _)| path.starts_with("qdl/")) {
        at.fail("no file of the Query Dispatch Library (qdl/) is among the sources");
    }
    let revision = tree.home.revision();
    if tree.text(&revision).is_none_or(|text| text.trim() != here) {
        let text = format!("is not the SHA-256 of the sources beside it: write {here}");
        at.fail_at(revision, text);
    }
    for (run, record) in subject.records() {
        let mut at = found.at(&run.record_place);
        let ran = &record.versions.sources_sha256;
        if *ran != here {
            at.fail(format!(
                "the program that ran was built from sources with SHA-256 {ran}, and the sources in {place} have {here}: \
                 submit the sources of the program that ran"
            ));
        }
        at.or_pass("the sources in the tree are those of the program that ran");
    }
}

/// Returns the path and the contents of each source file. Omits `REVISION`, which contains the
/// SHA-256 of the others.
fn read_sources(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let files = tree::list_files(folder)?.into_iter().map(|path| {
        let bytes = files::read(&folder.join(&path))?;
        let parts: Option<Vec<_>> = path.iter().map(|part| part.to_str()).collect();
        let no_text = || io::Error::new(io::ErrorKind::InvalidData, "a name is not UTF-8");
        Ok((parts.ok_or_else(no_text)?.join("/"), bytes))
    });
    let files: io::Result<Vec<_>> = files.collect();
    Ok(files?.into_iter().filter(|(path, _)| path != "REVISION").collect())
}

/// Judges a rule that netdiv's sources keep by construction, as `claim` explains. It passes if N16
/// has shown that the program that ran was built from the sources in the tree; otherwise it cannot
/// be judged.
pub(super) fn judge_by_construction(claim: &str, subject: &Subject, found: &mut Findings) {
    if subject.is_foreign() {
        return;
    }
    if subject.tree.is_none() {
        let text = "that the sources that keep the rule are those that ran";
        found.unknown("", format!("{NEEDS_SUBMISSION}{text}"));
    } else if found.broken().contains(&Rule::N16) {
        let text = "the sources keep the rule, but nothing shows that the program that ran was built from them (N16)";
        found.unknown("", text);
    } else {
        found.pass("", format!("{claim}, and the sources are those that ran"));
    }
}
