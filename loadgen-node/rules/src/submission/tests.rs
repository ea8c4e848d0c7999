//! Tests of whole submissions, and of the findings against them.

mod faults;
mod power;
mod stated;
mod trees;

use std::{fs, path::Path};

use super::{FileTree, Gap, MakeError, Strictness, SubmissionSettings, make};
use crate::{
    book::Table,
    drafting::folder::StagedFolder,
    fixture::{self, SOURCES},
    record::RunResult,
};

fn build_in(folder: &Path, rehearsal: bool) -> Result<FileTree, Vec<String>> {
    let table = Table::builtin().unwrap();
    let settings = SubmissionSettings::read(&folder.join("submission.toml")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let strictness = if rehearsal { Strictness::Rehearsal } else { Strictness::Usual };
    let made = make(&settings, folder, table, &SOURCES, strictness, &out.path().join("tree"));
    made.map(|made| made.tree).map_err(|error| match error {
        // The text alone identifies a gap in the settings.
        MakeError::Refused(gaps) => {
            let is_of_settings = |gap: &Gap| gap.file.as_ref() == Some(&settings.file);
            let told = |gap: Gap| if is_of_settings(&gap) { gap.text } else { gap.to_string() };
            gaps.into_iter().map(told).collect()
        }
        MakeError::Folder(error) => panic!("{error}"),
    })
}

/// Writes a tree for tests with the official checkers, into the folder that the environment
/// variable `NETDIV_TREE_OUT` names. Does nothing if the variable is not set.
fn keep(tree: &FileTree, name: &str) {
    if let Some(out) = std::env::var_os("NETDIV_TREE_OUT") {
        let beside = StagedFolder::new(&Path::new(&out).join(name)).unwrap();
        beside.write(tree).unwrap();
        beside.finish().unwrap();
    }
}

/// Changes the inputs of a valid submission, makes the submission, and returns the reasons against
/// it.
fn problems_of(change: impl FnOnce(&Path)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "network", "v5.0");
    change(folder.path());
    build_in(folder.path(), false).err().unwrap_or_default()
}

/// Requires that the reasons against a changed submission contain these texts. Returns the reasons.
fn assert_told<T: AsRef<str>>(wants: &[T], change: impl FnOnce(&Path)) -> Vec<String> {
    let problems = problems_of(change);
    let all = problems.join("\n");
    for want in wants.iter().map(AsRef::as_ref) {
        assert!(all.contains(want), "{want}: {all}");
    }
    problems
}

fn change_result(folder: &Path, change: impl FnOnce(&mut RunResult)) {
    let mut result =
        serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap();
    change(&mut result);
    fixture::write_result(folder, &result);
}

fn change_settings(folder: &Path, from: &str, to: &str) {
    let path = folder.join("submission.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(&path, text.replace(from, to)).unwrap();
}

fn text<'a>(tree: &'a FileTree, path: &str) -> &'a str {
    std::str::from_utf8(&tree[path]).unwrap()
}
