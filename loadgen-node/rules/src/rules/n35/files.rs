//! Judges the names and sizes of all files, as the official checkers do (tags v5.0.1 and v5.1, and
//! the branch main).

use std::{fs, io, path::Path};

use crate::{
    Outcome,
    input::files::{DOCUMENT_BYTES, entries, is_document},
    subject::{Findings, Subject, logs::EMPTY},
    tree::{DIVISIONS, Layout},
};

const LARGEST: u64 = 50 * 1024 * 1024;

/// Folders that may be in the root beside the divisions.
const ROOT_FOLDERS: [&str; 3] = [".git", ".github", "assets"];

/// LoadGen's trace, which no checker requires.
const TRACE: &str = "mlperf_log_trace.json";

const LINK: &str = "is a symbolic link: replace it with its target";

struct TreeEntry {
    /// Path from the root, with `/` between its parts.
    path: String,
    /// True if the name is not UTF-8, so that `path` is not exact.
    is_garbled: bool,
    kind: EntryKind,
}

enum EntryKind {
    File(u64),
    /// Pipe, socket or device.
    Special,
    Link,
    Empty,
    Folder,
}

/// Returns true if a file of this name is for a reviewer or a checker, and so must not be empty. No
/// official program checks whether other files are empty, such as scripts, locks and marks.
fn says_something(name: &str) -> bool {
    let is_read = |ending| name.ends_with(ending);
    name == "user.conf"
        || name.starts_with("mlperf_log_") && name != TRACE
        || [".md", ".json", ".txt", ".pdf", ".svg"].into_iter().any(is_read)
}

/// Judges everything below one submitter's folder.
pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "the files that it must have";
    let Some(tree) = found.tree(subject, text) else { return };
    if subject.is_first {
        judge_root(&tree.root, found);
    }
    let items = match walk(&tree.root, &tree.home.root()) {
        Ok(items) => items,
        Err(error) => return found.fail(tree.home.root(), format!("cannot be read: {error}")),
    };
    // No official program checks whether the sources of others contain empty files.
    let code = ["code", "src"].map(|folder| format!("{}/{folder}/", tree.home.root()));
    let is_code = |path: &str| code.iter().any(|folder| path.starts_with(folder));
    let is_foreign = subject.is_foreign();
    let is_too_long = |path: &str, length: u64| {
        length > DOCUMENT_BYTES && is_document(Path::new(path)) && !is_foreign && !is_code(path)
    };
    for TreeEntry { path, is_garbled, kind } in items {
        let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
        let mut at = found.at(&path);
        if is_garbled {
            at.fail("has a name that is not UTF-8: rename it");
        }
        // The newest checker, for rounds from v6.0 on, does not check names.
        let names = match tree.home.layout {
            Layout::A => Outcome::Fail,
            Layout::B => Outcome::CannotTell,
        };
        if name.contains(' ') {
            at.find(
                names,
                "has a space in its name, which checkers up to tag v6.0.0pre refuse: rename it",
            );
        }
        if name.starts_with('.') {
            at.find(
                names,
                "begins with a dot, which checkers up to tag v6.0.0pre refuse: remove it",
            );
        }
        match kind {
            EntryKind::File(0) if says_something(name) && !(is_foreign && is_code(&path)) => {
                at.fail(EMPTY);
            }
            EntryKind::File(length) if is_too_long(&path, length) => {
                let text = "the maximum that is read: shorten it";
                at.fail(format!("has {length} bytes, more than {DOCUMENT_BYTES}, {text}"));
            }
            EntryKind::File(length) if length > LARGEST => {
                at.fail(format!("has {length} bytes, more than 50 MiB: shorten or remove it"));
            }
            EntryKind::Special => at.fail("is neither a file nor a folder: remove it"),
            EntryKind::Link => at.fail(LINK),
            EntryKind::Empty => at.fail("is an empty folder: remove it"),
            EntryKind::Folder if name == "__pycache__" => at.fail("is Python's cache: remove it"),
            EntryKind::File(_) | EntryKind::Folder => {}
        }
    }
}

/// Judges everything above the submitters' folders, once for a whole tree.
fn judge_root(root: &Path, found: &mut Findings) {
    let in_root = match entries(root) {
        Ok(in_root) => in_root,
        Err(error) => return found.fail("", format!("the root cannot be read: {error}")),
    };
    for (name, path) in in_root {
        let is_division = DIVISIONS.contains(&name.as_str());
        if path.is_symlink() {
            found.fail(&name, LINK);
        }
        if path.is_dir() {
            if !is_division && !ROOT_FOLDERS.contains(&name.as_str()) {
                let text = "is not a division: only closed, network and open may be in the root";
                found.fail(&name, text);
            }
        } else if !(name.ends_with(".md") || name.ends_with(".pdf")) {
            found.fail(&name, "is in the root, outside every division: remove it");
        }
        if !is_division {
            continue;
        }
        for (inner, path) in entries(&path).unwrap_or_default() {
            let mut at = found.at(format!("{name}/{inner}"));
            if path.is_symlink() {
                at.fail(LINK);
            } else if !path.is_dir() {
                at.fail("is outside every submitter's folder: remove it");
            }
        }
    }
}

/// Returns the folder `start` and everything below it, sorted by the path from `root`.
fn walk(root: &Path, start: &str) -> io::Result<Vec<TreeEntry>> {
    let mut items = Vec::new();
    let mut waiting = vec![root.join(start)];
    let relative = |path: &Path| {
        let path = path.strip_prefix(root).unwrap_or(path);
        path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
    };
    while let Some(folder) = waiting.pop() {
        let inside = entries(&folder)?;
        let mut item = |path: &Path, kind| {
            let is_garbled = path.file_name().is_some_and(|name| name.to_str().is_none());
            items.push(TreeEntry { path: relative(path), is_garbled, kind });
        };
        item(&folder, if inside.is_empty() { EntryKind::Empty } else { EntryKind::Folder });
        for (_, path) in inside {
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                waiting.push(path);
            } else if metadata.is_symlink() {
                item(&path, EntryKind::Link);
            } else if metadata.is_file() {
                item(&path, EntryKind::File(metadata.len()));
            } else {
                item(&path, EntryKind::Special);
            }
        }
    }
    items.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::subject::AllFindings;

    #[test]
    fn the_root_holds_divisions_and_submitters_only() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        fs::create_dir_all(path.join("network/acme")).unwrap();
        fs::write(path.join("README.md"), "x").unwrap();
        let problems = || {
            let mut found = AllFindings::default();
            judge_root(path, &mut found.of(Rule::N35));
            found.into_grouped().iter().filter(|finding| finding.outcome == Outcome::Fail).count()
        };
        assert_eq!(problems(), 0);
        fs::write(path.join("notes.txt"), "x").unwrap();
        fs::write(path.join("network/notes.md"), "x").unwrap();
        fs::create_dir(path.join("netwrok")).unwrap();
        std::os::unix::fs::symlink("acme", path.join("network/other")).unwrap();
        assert_eq!(problems(), 4);
    }
}
