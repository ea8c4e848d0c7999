//! Trial of a script: checks that it has all that it needs to judge responses.

use std::{fmt::Display, path::Path};

use super::{child_process, environment::Environment};
use crate::{
    RunError,
    run::outcome::accuracy::{OfficialScript, Trial},
    settings::usage,
};

/// Runs the script's trial. The error names the missing requirement.
pub(crate) fn run_trial(
    script: &OfficialScript,
    trial: &Trial,
    reference: &Path,
    environment: &Environment,
) -> Result<(), RunError> {
    let path = reference.join(script.file);
    let folder = path.parent().unwrap_or(reference);
    let mut command = environment.python();
    command.arg("-c").arg(trial.program).arg(folder);
    let failed =
        |why: &dyn Display| RunError::Script(format!("the trial of {}: {why}", script.file));
    let ended = child_process::run(&mut command, &[]).map_err(|error| failed(&error))?;
    match ended.status.code() {
        Some(0) => return Ok(()),
        Some(_) => {}
        // A signal ended the trial, so nothing is known to be missing.
        None => return Err(failed(&format!("it ended with {}", ended.status))),
    }
    usage(format!(
        "{} would count answers as wrong: {}; {}",
        script.file, ended.complaints.last, trial.remedy
    ))
}
