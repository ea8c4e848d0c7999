//! Records that a run leaves beside its result: counts second by second (`series.csv`), and
//! durations of samples (`histograms.hlog`). docs/RECORDS.md describes the formats.

pub(crate) mod histograms;
pub(crate) mod run;
pub(crate) mod series;
pub(crate) mod steady;

use std::path::Path;

use netdiv_rules::{Mode, official_log, record::RunResult};

use crate::{RunError, output};

/// Reads the record of a run. Fails if the run's mode is neither `mode` nor `submission`, which
/// includes both a performance and an accuracy test, or if a log has changed since the run.
pub(crate) fn read_unchanged(folder: &Path, mode: Mode) -> Result<RunResult, RunError> {
    let path = folder.join(output::RESULT);
    let refused = |why: String| RunError::Usage(format!("{}: {why}", path.display()));
    let text = netdiv_node_common::resources::files::read_text(&path)
        .map_err(|error| refused(error.to_string()))?;
    let run: RunResult = serde_json::from_str(&text)
        .map_err(|error| refused(format!("not a record of a run: {error}")))?;
    if run.mode != mode && run.mode != Mode::Submission {
        return Err(refused(format!("the run is in mode {}; expected {mode}", run.mode)));
    }
    let now = official_log::digests(folder).map_err(|error| RunError::Usage(error.to_string()))?;
    match run.logs.iter().find(|(name, digest)| now.get(*name) != Some(*digest)) {
        Some((name, _)) => Err(refused(format!("{name} is not what LoadGen wrote in this run"))),
        None => Ok(run),
    }
}
