//! Records that a run leaves beside its result: counts second by second (`series.csv`), and
//! durations of samples (`histograms.hlog`). docs/RECORDS.md describes the formats.

pub(crate) mod histograms;
pub(crate) mod series;
pub(crate) mod steady;
pub(crate) mod sweep;

use std::{
    fs::DirEntry,
    io,
    path::{Path, PathBuf},
};

use netdiv_node_common::resources::files;
use netdiv_rules::{Mode, official_log, record::RunResult};

use self::{histograms::Histograms, series::SeriesRow};
use crate::{RunError, output};

/// Latencies that LoadGen logs: the prefix of each in the keys of `loadgen_latency_ns`, and its
/// name.
pub(crate) const LATENCIES: [(&str, &str); 3] =
    [("", "latency"), ("first_token_", "TTFT"), ("further_token_", "TPOT")];

/// Percentiles of latencies: the end of each in the keys of `loadgen_latency_ns`, and its name.
pub(crate) const PERCENTILES: [(&str, &str); 4] =
    [("50.00", "p50"), ("90.00", "p90"), ("99.00", "p99"), ("99.90", "p99.9")];

/// Reads the record of a run. The error names the file.
pub(crate) fn read_result(folder: &Path) -> Result<RunResult, String> {
    let path = folder.join(output::RESULT);
    let json = files::read(&path, u64::MAX).map_err(|error| error.to_string());
    json.and_then(|json| RunResult::of(&json)).map_err(|why| format!("{}: {why}", path.display()))
}

/// Reads the record of a run. Fails if the run's mode is neither `mode` nor `submission`, which
/// includes both a performance and an accuracy test, or if a log has changed since the run.
pub(crate) fn read_unchanged(folder: &Path, mode: Mode) -> Result<RunResult, RunError> {
    let run = read_result(folder).map_err(RunError::Usage)?;
    let path = folder.join(output::RESULT);
    let refused = |why: String| RunError::Usage(format!("{}: {why}", path.display()));
    if run.mode != mode && run.mode != Mode::Submission {
        return Err(refused(format!("the run is in mode {}; expected {mode}", run.mode)));
    }
    let now = official_log::digests(folder).map_err(RunError::invalid)?;
    match run.logs.iter().find(|(name, digest)| now.get(*name) != Some(*digest)) {
        Some((name, _)) => Err(refused(format!("{name} is not what LoadGen wrote in this run"))),
        None => Ok(run),
    }
}

/// A run that has ended, with its records.
#[derive(Debug)]
pub(crate) struct RecordedRun {
    pub(crate) folder: PathBuf,
    pub(crate) result: RunResult,
    /// Rows of `series.csv`. Empty for a run of an earlier version, which wrote no such file.
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) histograms: Histograms,
}

impl RecordedRun {
    /// Reads a run. The error names the file.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        if output::is_fabric(folder) {
            return Err(RunError::Usage(format!(
                "{} holds a network measurement (`loadgen-node fabric`), not a run: report it alone and with --format html, or compare it \
                 with another measurement by `loadgen-node compare`",
                folder.display()
            )));
        }
        let result = read_result(folder).map_err(|why| {
            RunError::Usage(format!("{why}; pass the folder of a finished run (--output of `run`)"))
        })?;
        Ok(Self {
            folder: folder.into(),
            result,
            series: series::read(folder).map_err(RunError::Usage)?,
            histograms: Histograms::read(folder).map_err(RunError::Usage)?,
        })
    }

    /// Drops what only pictures need, which is most of a run.
    pub(crate) fn forget_times(&mut self) {
        self.series = Vec::new();
        self.histograms = Histograms::default();
    }

    pub(crate) fn name(&self) -> String {
        folder_name(&self.folder)
    }
}

/// Levels of folders in which [`runs_in`] searches.
const DEPTH: usize = 3;

/// Part of the name of a step's folder that a sweep has set aside.
pub(crate) const SET_ASIDE: &str = ".unfinished-";

/// Finds runs in a folder: the folders with a `result.json`, at most three levels down, in order,
/// without the steps that a sweep has set aside. Also returns the reasons why folders cannot be
/// read. Fails if there is no run.
pub(crate) fn runs_in(folder: &Path) -> Result<(Vec<PathBuf>, Vec<String>), RunError> {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    let mut level = vec![folder.to_owned()];
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for folder in level {
            let entries = folder.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let entries = entries.unwrap_or_else(|error| {
                unread.push(format!("{}: {error}", folder.display()));
                Vec::new()
            });
            let is_kept =
                |entry: &DirEntry| !entry.file_name().to_string_lossy().contains(SET_ASIDE);
            for entry in entries.into_iter().filter(is_kept) {
                if entry.path().join(output::RESULT).exists() {
                    found.push(entry.path());
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    next.push(entry.path());
                }
            }
        }
        level = next;
    }
    if found.is_empty() {
        return Err(RunError::Usage(format!(
            "{} holds no finished run: neither the folder nor its subfolders, {DEPTH} levels down, have a result.json; \
             pass the folder of a run (--output of `run`), or a folder of such folders{}",
            folder.display(),
            unread.iter().map(|why| format!("\n{why}")).collect::<String>()
        )));
    }
    found.sort();
    Ok((found, unread))
}

/// Returns the name of a folder, for display.
pub(crate) fn folder_name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
}
