//! The table of benchmarks that a command uses.

use std::{path::PathBuf, sync::Arc};

use netdiv_rules::book::Table;
use serde::Serialize;

use crate::RunError;

/// Key that selects the table of benchmarks.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
#[command(next_help_heading = "Test")]
pub struct TableArgs {
    /// Use this table of benchmarks, in TOML, instead of the built-in one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub benchmarks: Option<PathBuf>,
}

impl TableArgs {
    /// Reads the table from the file; without a file, returns the built-in one.
    pub(crate) fn read(&self) -> Result<Arc<Table>, RunError> {
        let usage = |error| RunError::Usage(format!("--benchmarks: {error}"));
        Ok(Arc::new(match &self.benchmarks {
            Some(file) => Table::read(file).map_err(usage)?,
            None => Table::builtin().map_err(usage)?.clone(),
        }))
    }
}
