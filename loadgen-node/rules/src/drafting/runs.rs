//! Reading of run folders.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use netdiv_node_common::words::is_todo;

use super::gap::Problems;
use crate::{
    input::files,
    official_log::{DetailLog, TruncatedLog},
    record::RunResult,
    tree,
};

#[derive(Debug)]
pub(super) struct RunFolder {
    pub(super) folder: PathBuf,
    /// Name in messages: the folder as written in the settings.
    pub(super) name: String,
    pub(super) result: RunResult,
    /// Bytes of `result.json`.
    pub(super) record: Vec<u8>,
    pub(super) detail: Vec<u8>,
    pub(super) summary: Vec<u8>,
    pub(super) accuracy_log: TruncatedLog,
}

/// Reads the run folder `folder`, relative to `base`. Adds faults and returns `None` if that fails.
pub(super) fn load(base: &Path, folder: &Path, problems: &mut Problems) -> Option<RunFolder> {
    let name = folder.display().to_string();
    let folder = base.join(folder);
    if is_todo(&name) {
        return None;
    }
    let mut fault = |what: &str, error: &dyn std::fmt::Display| {
        problems.fault_in(&name, format!("{what}: {error}"));
    };
    let record = files::read(&folder.join(RunResult::FILE))
        .map_err(|error| fault("cannot read the result.json of a run", &error))
        .ok()?;
    let result = RunResult::of(&record).map_err(|why| fault(RunResult::FILE, &why)).ok()?;
    let mut read =
        |file: &str| files::read(&folder.join(file)).map_err(|error| fault(file, &error)).ok();
    let (detail, summary) = (read(tree::DETAIL), read(tree::SUMMARY));
    let accuracy_log = TruncatedLog::read(&folder.join(tree::ACCURACY_LOG))
        .map_err(|error| fault(tree::ACCURACY_LOG, &error))
        .ok();
    let (detail, summary, accuracy_log) = (detail?, summary?, accuracy_log?);
    Some(RunFolder { folder, name, result, record, detail, summary, accuracy_log })
}

impl RunFolder {
    /// Samples per second, from LoadGen's log.
    pub(super) fn throughput(&self) -> Option<f64> {
        DetailLog::read(&self.folder.join(tree::DETAIL)).ok()?.throughput(self.result.scenario)
    }

    /// Returns the seed that the run requested for a LoadGen setting.
    pub(super) fn seed(&self, setting: &str) -> Option<u64> {
        self.result.test_settings.get(setting)?.parse().ok()
    }

    /// Returns the path of the run's user.conf, as recorded in the run's settings.
    pub(super) fn user_conf(&self) -> Option<&str> {
        self.result.settings.get("user_conf")?.as_str()
    }

    /// LoadGen's version, without its revision.
    pub(super) fn loadgen_version(&self) -> &str {
        self.result.versions.loadgen.split_whitespace().next().unwrap_or_default()
    }
}

/// Checks that all runs have the same nodes, because a `submission.toml` is about one system.
pub(super) fn check_one_system<'a>(
    mut runs: impl Iterator<Item = &'a RunFolder>,
    problems: &mut Problems,
) {
    let names = |run: &'a RunFolder| -> BTreeSet<&'a str> {
        run.result.nodes.iter().map(|node| node.name.as_str()).collect()
    };
    let listed = |run: &'a RunFolder| names(run).into_iter().collect::<Vec<_>>().join(", ");
    let Some(first) = runs.next() else { return };
    for run in runs.filter(|run| names(run) != names(first)) {
        problems.fault(format!(
            "{} and {} have different nodes ({} and {}); a submission.toml is about one system",
            first.name,
            run.name,
            listed(first),
            listed(run)
        ));
    }
}
