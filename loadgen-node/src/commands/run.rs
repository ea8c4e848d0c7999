//! `loadgen-node run`: a run of LoadGen.

use crate::{
    RunArgs, RunError,
    error::EXIT_FAILED,
    result::Verdict,
    run::{Interruptions, prepare, run},
    settings::Names,
};
use netdiv_process::SettingsFile;

/// `loadgen-node run`.
#[derive(Debug, clap::Args)]
pub struct RunCommand {
    #[command(flatten)]
    file: SettingsFile,
    #[command(flatten)]
    args: RunArgs,
}

impl RunCommand {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let (names, interruptions) = (Names::of(&self.file), Interruptions::listen()?);
        let test = |args: &RunArgs| prepare(args.resolve_with(names)?);
        match self.file.resolve(&self.args, test)? {
            None => Ok(0),
            Some(test) => run(&test, &interruptions).map(exit_code),
        }
    }
}

/// The exit code of a run.
pub const fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Valid | Verdict::Complete => 0,
        Verdict::Invalid => 1,
        Verdict::Failed => EXIT_FAILED,
    }
}
