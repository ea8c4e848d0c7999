//! `loadgen-node run`: a run of LoadGen.

use super::in_process as tool;
use crate::{
    RunArgs, RunError,
    error::EXIT_FAILED,
    record::Verdict,
    run::{InProcess, Interruptions, prepare, run},
    settings::{Names, Target},
};
use netdiv_node_common::process::SettingsFile;

/// Arguments of `loadgen-node run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    file: SettingsFile,
    #[command(flatten)]
    args: RunArgs,
}

impl RunCommand {
    pub(super) fn execute(&self, in_process: Option<InProcess>) -> Result<u8, RunError> {
        let (names, interruptions) = (Names::of(&self.file), Interruptions::listen()?);
        let test = |args: &RunArgs| {
            let config = args.resolve_with(names)?;
            if let Target::InProcess(file) = &config.target {
                let InProcess { check, .. } = in_process.ok_or_else(tool::become_it)?;
                check(file).map_err(|why| RunError::Usage(format!("--in-process: {why}")))?;
            }
            prepare(config)
        };
        match self.file.resolve(&self.args, test)? {
            None => Ok(0),
            Some(test) => run(&test, in_process, &interruptions).map(exit_code),
        }
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
