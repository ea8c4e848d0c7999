//! `loadgen-node benchmarks`: the table of benchmarks, or a single benchmark.

use netdiv_node_common::process::{columns, fold_tables};

use crate::{RunError, output::say, report::benchmarks, settings::TableArgs};

/// Options of `loadgen-node benchmarks`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Test")]
pub(crate) struct BenchmarksArgs {
    /// Show everything that the table has about this benchmark
    name: Option<String>,
    #[command(flatten)]
    table: TableArgs,
}

impl BenchmarksArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let table = self.table.read()?;
        let Some(name) = &self.name else {
            say(benchmarks::list(&table, columns()))?;
            return Ok(0);
        };
        let benchmark = table.known(name).map_err(RunError::Usage)?;
        say(fold_tables(&benchmarks::describe(benchmark), columns()))?;
        Ok(0)
    }
}
