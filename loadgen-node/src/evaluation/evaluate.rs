//! Runs the script and keeps what it found.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use netdiv_rules::{
    book::Benchmark,
    compliance::{self, Metrics},
    result::RunResult,
    tree::ACCURACY_TXT,
};
use tracing::info;

use super::{environment::Environment, missing};
use crate::{RunError, output, run::accuracy::OfficialScript};

/// What the script found.
pub(crate) struct Evaluation {
    /// The file that was written.
    pub(crate) file: PathBuf,
    pub(crate) metrics: Metrics,
}

/// Lines of `accuracy-openimages.py` about the index of a sample, which a node must not know (docs/MODELS.md).
const OF_INDEX: &str = "ERROR: loadgen(";

/// Gives the run's accuracy log to the script, and writes `accuracy.txt` beside it.
pub(crate) fn evaluate(
    script: &OfficialScript,
    (folder, run): (&Path, &RunResult),
    benchmark: &Benchmark,
    reference: &Path,
    environment: impl FnOnce() -> Result<Environment, RunError>,
    given: &[String],
) -> Result<Evaluation, RunError> {
    missing::refuse(script, folder, reference, given)?;
    let mut command = environment()?.python();
    command.arg(reference.join(script.file)).args(given).args(script.options(folder));
    // Not under its last name before it is whole.
    let part = folder.join("accuracy.txt.part");
    if let Some(option) = script.report {
        command.arg(option).arg(&part);
    }
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    info!("python3 {}", words.join(" "));
    let failed = |why: &dyn std::fmt::Display| RunError::Failed(format!("{}: {why}", script.file));
    let run_to_end = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let said = run_to_end.map_err(|error| failed(&error))?;
    let printed = String::from_utf8_lossy(&said.stdout);
    if !said.status.success() {
        output::report(printed.trim_end());
        return Err(failed(&format!("it ended with {}; what it said is above", said.status)));
    }
    let text = match script.report {
        Some(_) => netdiv_resources::files::read_text(&part).map_err(|error| failed(&error))?,
        None => printed
            .lines()
            .filter(|line| !line.starts_with(OF_INDEX))
            .map(|line| format!("{line}\n"))
            .collect(),
    };
    let log = run.logs.get(output::ACCURACY).map(String::as_str).unwrap_or_default();
    output::write(&part, compliance::with_hash(text.trim_end(), log).as_bytes())?;
    let found = compliance::printed_accuracy(&part, benchmark);
    let _ = std::fs::remove_file(&part);
    let (metrics, text) = found.map_err(|error| {
        output::report(printed.trim_end());
        failed(&format!("{error}; what it said is above"))
    })?;
    let file = folder.join(ACCURACY_TXT);
    output::write(&file, text.as_bytes())?;
    Ok(Evaluation { file, metrics })
}
