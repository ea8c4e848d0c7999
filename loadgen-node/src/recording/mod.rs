//! Records that a run leaves beside its result: counts second by second (`series.csv`), and
//! durations of samples (`histograms.hlog`). docs/RECORDS.md describes the formats.

pub(crate) mod histograms;
pub(crate) mod run;
pub(crate) mod series;
pub(crate) mod steady;

use std::path::Path;

use netdiv_node_common::resources::files;
use netdiv_rules::{Mode, official_log, record::RunResult};

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
    let now = official_log::digests(folder).map_err(|error| RunError::Usage(error.to_string()))?;
    match run.logs.iter().find(|(name, digest)| now.get(*name) != Some(*digest)) {
        Some((name, _)) => Err(refused(format!("{name} is not what LoadGen wrote in this run"))),
        None => Ok(run),
    }
}
