//! What a submitter writes, and what the official scripts print.

use std::{fs, path::Path};

use netdiv_rules::{
    benchmarks::Table,
    check::check,
    compliance::{accuracy_hash, accuracy_of},
    submission::{Settings, build},
    user_conf,
};

use crate::with_file;

/// The first byte says which file it is.
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
    let Ok(settings) = Settings::read(path) else { return };
    let base = path.parent().unwrap_or(path);
    for rehearsal in [false, true] {
        let _ = build(&settings, base, Table::builtin(), &[], rehearsal);
    }
}

fn accuracy_txt(path: &Path) {
    let _ = accuracy_hash(path);
    for benchmark in &Table::builtin().benchmarks {
        let _ = accuracy_of(path, benchmark);
    }
}

/// The description of a system, in a submission that has nothing else.
fn system_json(content: &[u8]) {
    let Ok(root) = tempfile::tempdir() else { return };
    let folder = root.path().join("network/Somebody/systems");
    let written =
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("a-system.json"), content));
    if written.is_ok() {
        let _ = check(root.path(), Table::builtin(), None);
    }
}
