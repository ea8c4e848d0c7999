//! Files of a submitter, and output of the official scripts.

use std::{fs, path::Path};

use netdiv_rules::{
    book::{Formats, Table},
    check::{Options, check},
    compliance::{accuracy_hash, accuracy_of},
    submission::{Strictness, SubmissionSettings, make},
    user_conf,
};

use crate::input::with_file;

/// Reads a file of a submission; the first byte chooses its kind.
pub(crate) fn submissions(data: &[u8]) {
    let Some((which, content)) = data.split_first() else { return };
    let read: fn(&Path) = match which % 5 {
        0 => submission_toml,
        1 => |path| drop(user_conf::check(path, "resnet50", "Server")),
        2 => accuracy_txt,
        3 => |path| drop(Table::read(path)),
        _ => return system_json(content),
    };
    with_file(content, read);
}

fn submission_toml(path: &Path) {
    let Ok(settings) = SubmissionSettings::read(path) else { return };
    let base = path.parent().unwrap_or(path);
    let (Ok(table), Ok(out)) = (Table::builtin(), tempfile::tempdir()) else { return };
    for (strictness, name) in [(Strictness::Strict, "tree"), (Strictness::Rehearsal, "rehearsal")] {
        let _ = make(&settings, base, table, &[], strictness, &out.path().join(name));
    }
}

fn accuracy_txt(path: &Path) {
    let _ = accuracy_hash(path);
    for benchmark in Table::builtin().map(|table| &table.benchmarks).into_iter().flatten() {
        let _ = accuracy_of(path, benchmark, &Formats::of(None));
    }
}

/// Checks the description of a system, in a submission that contains nothing else.
fn system_json(content: &[u8]) {
    let Ok(root) = tempfile::tempdir() else { return };
    let folder = root.path().join("network/Somebody/systems");
    let written =
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("a-system.json"), content));
    if written.is_ok() {
        let _ = Table::builtin().map(|table| check(root.path(), table, &Options::default()));
    }
}
