//! `loadgen-node run`: a run of LoadGen.

use crate::{
    RunArgs, RunError,
    error::EXIT_FAILED,
    result::Verdict,
    run::{Interruptions, run},
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
        match self.file.resolve(&self.args, |args: &RunArgs| args.resolve_with(names))? {
            None => Ok(0),
            Some(config) => run(config, &interruptions).map(exit_code),
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
