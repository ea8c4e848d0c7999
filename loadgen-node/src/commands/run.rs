//! `loadgen-node run`: a run of LoadGen.

use std::{env, os::unix::process::CommandExt as _, path::PathBuf, process::Command};

use netdiv_node_common::process::CommandSettings;

use crate::{
    RunArgs, RunError,
    error::EXIT_FAILED,
    record::Verdict,
    run::{InProcessEngines, Interruptions, prepare, run},
    settings::{DnsNames, Target},
};

pub(super) fn execute(
    settings: &CommandSettings<RunArgs>,
    in_process: Option<InProcessEngines>,
) -> Result<u8, RunError> {
    let (names, interruptions) = (DnsNames::of(settings), Interruptions::listen()?);
    let test = |args: &RunArgs| {
        let config = args.resolve_with(names)?;
        if let Target::InProcess(file) = &config.target {
            let InProcessEngines { check, .. } = in_process.ok_or_else(exec_tool)?;
            check(file).map_err(|why| RunError::Usage(format!("--in-process: {why}")))?;
        }
        prepare(config)
    };
    match settings.resolve(test)? {
        None => Ok(0),
        Some(test) => run(&test, in_process, &interruptions).map(exit_code),
    }
}

/// Returns the exit code of a run.
pub const fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Valid | Verdict::Complete => 0,
        Verdict::Invalid => 1,
        Verdict::Failed => EXIT_FAILED,
    }
}

/// File name of the tool that runs LoadGen and the engines of a SUT node in one process: a separate
/// program beside this one, which links both.
const TOOL: &str = "netdiv-in-process";

/// Returns the tool's path. Fails if the tool is not beside this program.
pub(super) fn find_tool() -> Result<PathBuf, RunError> {
    let own = env::current_exe().map_err(RunError::failed)?;
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
fn exec_tool() -> RunError {
    match find_tool() {
        Ok(tool) => {
            let error = Command::new(&tool).args(env::args_os().skip(1)).exec();
            RunError::Failed(format!("{}: {error}", tool.display()))
        }
        Err(error) => error,
    }
}
