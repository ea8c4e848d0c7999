//! The table of benchmarks that a command uses.

use std::{path::PathBuf, sync::Arc};

use netdiv_rules::book::Table;
use serde::{Deserialize, Serialize};

use crate::RunError;

/// Which table of benchmarks to use.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Test")]
pub struct TableArgs {
    /// Use this table of benchmarks, in TOML, instead of the built-in one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub benchmarks: Option<PathBuf>,
}

impl TableArgs {
    /// Reads the file; without one it is the built-in table.
    pub(crate) fn read(&self) -> Result<Arc<Table>, RunError> {
        let usage = |error| RunError::Usage(format!("--benchmarks: {error}"));
        Ok(Arc::new(match &self.benchmarks {
            Some(file) => Table::read(file).map_err(usage)?,
            None => Table::builtin().map_err(usage)?.clone(),
        }))
    }
}
