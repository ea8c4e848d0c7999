//! The settings file of a command, with the command line on top.

use std::path::PathBuf;

use serde::{Serialize, de::DeserializeOwned};

use crate::{RunError, output::say};

/// Where settings come from besides the command line.
#[derive(Debug, clap::Args)]
pub(super) struct SettingsFile {
    /// Settings file in TOML; its keys are the options, with underscores instead of hyphens
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the settings as TOML and exit
    #[arg(long)]
    print_config: bool,
}

impl SettingsFile {
    /// What the settings of file and command line resolve to; `None` if they were only to be printed, which takes settings
    /// that resolve.
    pub(super) fn resolve<T, R>(
        &self,
        args: &T,
        resolve: impl FnOnce(&T) -> Result<R, RunError>,
    ) -> Result<Option<R>, RunError>
    where
        T: clap::Args + Serialize + DeserializeOwned,
    {
        let settings = netdiv_process::layered(args, self.config.as_deref())
            .map_err(|error| RunError::Usage(error.to_string()))?;
        let resolved = resolve(&settings)?;
        if !self.print_config {
            return Ok(Some(resolved));
        }
        let text = toml::to_string(&settings).map_err(|e| RunError::Usage(e.to_string()))?;
        say(text.trim_end())?;
        Ok(None)
    }
}
