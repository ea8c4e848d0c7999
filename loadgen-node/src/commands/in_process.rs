//! The tool that runs LoadGen and the engines of a SUT node in one process: a separate program
//! beside this one, which links both.

use std::{env, os::unix::process::CommandExt as _, path::PathBuf, process::Command};

use crate::RunError;

/// File name of the tool.
const TOOL: &str = "netdiv-in-process";

/// Returns the tool's path.
///
/// # Errors
///
/// Fails if the tool is not beside this program.
pub(super) fn find() -> Result<PathBuf, RunError> {
    let own = env::current_exe().map_err(|error| RunError::Failed(error.to_string()))?;
    let tool = own.with_file_name(TOOL);
    if tool.is_file() {
        return Ok(tool);
    }
    Err(RunError::Usage(format!(
        "{}: no such program. It runs LoadGen and the engines in one process, and is in the packages; to build it: \
         cargo build --release --package netdiv-tools --bin {TOOL}",
        tool.display()
    )))
}

/// Replaces this process by the tool, with the same arguments. Returns only if that fails.
pub(super) fn exec_tool() -> RunError {
    match find() {
        Ok(tool) => {
            let error = Command::new(&tool).args(env::args_os().skip(1)).exec();
            RunError::Failed(format!("{}: {error}", tool.display()))
        }
        Err(error) => error,
    }
}
