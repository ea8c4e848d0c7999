//! Claim of a sweep's folder: for a new sweep, or to continue one with the same settings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    io,
    path::Path,
};

use super::settings::SweepSettings;
use crate::{
    RunError,
    folder_lock::FolderLock,
    output,
    recording::sweep::{SWEEP, SweepRecord},
    settings::usage,
};

/// Claims the folder of a sweep.
pub(super) fn claim(settings: &SweepSettings, is_resumed: bool) -> Result<FolderLock, RunError> {
    let folder = &settings.output;
    let has_sweep = folder.join(SWEEP).exists();
    if !is_resumed {
        if has_sweep || has_steps(folder) {
            return usage(format!(
                "{} holds a sweep or its steps; continue it with --resume, or choose another --output",
                folder.display()
            ));
        }
        return output::prepare(folder);
    }
    if !has_sweep {
        return usage(format!(
            "--resume: {} holds no sweep; name its folder with --output, or leave --resume out",
            folder.display()
        ));
    }
    let failed = |error: io::Error| output::unwritten(folder, error);
    let Some(claim) = FolderLock::of(folder).map_err(failed)? else {
        return usage(format!("another sweep is writing into {}", folder.display()));
    };
    let before = SweepRecord::read(folder)?;
    let mut changes = differences("--", &before.settings, &settings.recorded);
    changes.extend(differences("content of ", &before.files, &settings.files));
    if changes.is_empty() {
        return Ok(claim);
    }
    usage(format!(
        "--resume: the sweep in {} has other settings:\n  {}\nRestore them, or start a new sweep with another --output",
        folder.display(),
        changes.join("\n  ")
    ))
}

/// Returns true if a folder has folders of steps.
fn has_steps(folder: &Path) -> bool {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(SET))
}

/// Beginning of the name of a folder with the steps of a set of nodes.
pub(super) const SET: &str = "nodes-";

/// Lists the keys whose values differ.
pub(super) fn differences<V: PartialEq + Display>(
    title: &str,
    before: &BTreeMap<String, V>,
    now: &BTreeMap<String, V>,
) -> Vec<String> {
    let keys: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let text = |value: Option<&V>| value.map_or("not set".into(), ToString::to_string);
    let change = |key: &String| {
        let (before, now) = (before.get(key), now.get(key));
        let shown =
            key.split(' ').next().map(|word| key.replacen(word, &word.replace('_', "-"), 1));
        (before != now).then(|| {
            format!("{title}{}: {}, now {}", shown.unwrap_or_default(), text(before), text(now))
        })
    };
    keys.into_iter().filter_map(change).collect()
}
