//! `loadgen-node run`: a run of LoadGen.

use super::in_process as tool;
use crate::{
    RunArgs, RunError,
    error::EXIT_FAILED,
    record::Verdict,
    run::{InProcessEngines, Interruptions, prepare, run},
    settings::{DnsNames, Target},
};
use netdiv_node_common::process::CommandSettings;

/// Arguments of `loadgen-node run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    settings: CommandSettings<RunArgs>,
}

impl RunCommand {
    pub(super) fn execute(&self, in_process: Option<InProcessEngines>) -> Result<u8, RunError> {
        let (names, interruptions) = (DnsNames::of(&self.settings), Interruptions::listen()?);
        let test = |args: &RunArgs| {
            let config = args.resolve_with(names)?;
            if let Target::InProcess(file) = &config.target {
                let InProcessEngines { check, .. } = in_process.ok_or_else(tool::exec_tool)?;
                check(file).map_err(|why| RunError::Usage(format!("--in-process: {why}")))?;
            }
            prepare(config)
        };
        match self.settings.resolve(test)? {
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
