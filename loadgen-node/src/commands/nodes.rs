//! `loadgen-node nodes`: asks the nodes who they are.

use tracing::error;

use crate::{
    NetworkArgs, RunError,
    output::say,
    report,
    run::Interruptions,
    settings::{Names, usage},
};
use netdiv_process::SettingsFile;

/// `loadgen-node nodes`.
#[derive(Debug, clap::Args)]
pub(crate) struct NodesCommand {
    #[command(flatten)]
    file: SettingsFile,
    #[command(flatten)]
    args: NetworkArgs,
}

impl NodesCommand {
    /// Asks every node and prints the answers. An error when one does not answer.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        Interruptions::listen()?;
        let names = Names::of(&self.file);
        let settings = self.file.resolve(&self.args, |args: &NetworkArgs| args.resolve(names))?;
        let Some(settings) = settings else { return Ok(0) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| RunError::Failed(error.to_string()))?;
        let answers = runtime.block_on(netdiv_qdl::survey(&settings.nodes, &settings.network));
        for answer in &answers {
            match answer {
                Ok(node) => say(format_args!("{}\n", report::nodes::render(node)))?,
                Err(error) => error!("{error}"),
            }
        }
        match answers.iter().filter(|answer| answer.is_err()).count() {
            0 => Ok(0),
            missing => usage(format!("{missing} of {} nodes cannot be used", answers.len())),
        }
    }
}
