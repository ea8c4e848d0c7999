//! N11, N12, N16, N19 and N21: what the program's own sources keep, where they are the sources of the program that ran
//! (rules, sections 6.2.1 and 6.2.3).

use std::{io, path::Path};

use super::{
    checked_folder::{Run, Subject, Tree},
    findings::Findings,
    judged::JudgedDivision,
    logs::disagreements,
};
use crate::{
    Rule::{N11, N12, N16, N19, N21, N33},
    facts::files,
    grouped::NEEDS_SUBMISSION,
    official_log::DetailLog,
    sources_digest::sources_sha256,
    sources_named::missing_sources,
    tree,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "the sources of the Query Dispatch Library";
    let tree = found.tree(subject, [N16], text);
    if !subject.is_foreign() {
        let proven = tree.is_some_and(|tree| sources(subject, tree, found));
        by_construction(proven, subject, found);
    }
    for (_, run, detail) in subject.details() {
        single_test(subject, run, detail, found);
        figures(run, detail, found);
    }
}

/// Whether the sources in the tree are those of every program that ran.
fn sources(subject: &Subject, tree: &Tree, found: &mut Findings) -> bool {
    let place = tree.home.sources();
    let mut at = found.at(N16, &place);
    let files = match read_sources(&tree.path(&place)) {
        Ok(files) if files.is_empty() => {
            at.fail(
                "the sources of the Query Dispatch Library are missing: add those that the program brings along",
            );
            return false;
        }
        Ok(files) => files,
        Err(error) => {
            at.fail(format!("cannot be read: {error}"));
            return false;
        }
    };
    let files: Vec<_> = files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect();
    let here = sources_sha256(&files);
    if !files.iter().any(|(path, _)| path.starts_with("qdl/")) {
        at.fail("no file of the Query Dispatch Library (qdl/) is among the sources");
    }
    at.fail_each(missing_sources(&files));
    let revision = tree.home.revision();
    if tree.text(&revision).is_none_or(|text| text.trim() != here) {
        let text = format!("is not the SHA-256 of the sources beside it: write {here}");
        at.fail_there(revision, text);
    }
    let mut proven = at.is_kept();
    for (run, record) in subject.records() {
        let mut at = found.at(N16, &run.record_place);
        let ran = &record.versions.sources_sha256;
        if *ran != here {
            at.fail(format!(
                "the program that ran was made of sources with SHA-256 {ran}, those in {place} have {here}: submit the \
                 sources of the program that ran"
            ));
        }
        proven &= at.is_kept();
        at.or_pass("the sources in the tree are those of the program that ran");
    }
    proven
}

/// All sources by their path; the file with the hash is none of them.
fn read_sources(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let files = tree::list_files(folder)?.into_iter().map(|path| {
        let bytes = files::read(&folder.join(&path))?;
        let parts: Option<Vec<_>> = path.iter().map(|part| part.to_str()).collect();
        let no_text = || io::Error::new(io::ErrorKind::InvalidData, "a name is no UTF-8");
        Ok((parts.ok_or_else(no_text)?.join("/"), bytes))
    });
    let files: io::Result<Vec<_>> = files.collect();
    Ok(files?.into_iter().filter(|(path, _)| path != "REVISION").collect())
}

fn by_construction(proven: bool, subject: &Subject, found: &mut Findings) {
    let claims = [
        (N11, "a response is decoded before LoadGen is told of it (qdl/src/incoming.rs)"),
        (N12, "LoadGen has one QDL and one test at a time (loadgen-sys)"),
        (N19, "the QDL forms no batch and knows no tensor; the nodes do (sut-node/)"),
        (N21, "times and verdicts are LoadGen's, taken from its log (official_log.rs)"),
    ];
    for (rule, claim) in claims {
        if proven {
            found.pass(rule, "", format!("{claim}, and the sources are those that ran"));
        } else if subject.tree.is_none() {
            let text =
                format!("{NEEDS_SUBMISSION}that the sources which keep it are those that ran");
            found.unknown(rule, "", text);
        } else {
            let text = "the sources keep it, but that these are the sources of the program that ran is not shown (N16)";
            found.unknown(rule, "", text);
        }
    }
}

/// Judges by N12, or by N33 where a division does not ask for N12: each of two tests has figures, and readers differ in which they
/// take.
fn single_test(subject: &Subject, run: &Run, detail: &DetailLog, found: &mut Findings) {
    let rule = if subject.division == JudgedDivision::Network { N12 } else { N33 };
    let mut at = found.at(rule, &run.place);
    match detail.tests() {
        0 => at.fail("the detail log has no test_datetime"),
        1 => {}
        tests => {
            at.fail(format!("the detail log is of {tests} tests: give each run its own folder"));
        }
    }
    at.or_pass("one test in each log");
}

/// LoadGen's own figures are what the summary says.
fn figures(run: &Run, detail: &DetailLog, found: &mut Findings) {
    let mut at = found.at(N21, &run.place);
    let Some(Ok(summary)) = run.logs.as_ref().map(|logs| &logs.summary) else { return };
    let differ = disagreements(summary, detail);
    if !differ.is_empty() {
        at.fail(format!("the summary is not of this log: {}", differ.join("; ")));
    }
    at.or_pass("the detail log and the summary have the same figures");
}
