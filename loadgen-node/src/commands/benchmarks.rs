//! `loadgen-node benchmarks`: the table of benchmarks, or one of them.

use netdiv_node_common::process::{columns, folded};

use crate::{
    RunError,
    output::say,
    report::benchmarks,
    settings::{TableArgs, usage},
};

/// Keys of `loadgen-node benchmarks`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Test")]
pub(crate) struct BenchmarksArgs {
    /// Show all that is known of this benchmark
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
        let Some(benchmark) = table.find(name) else {
            return usage(table.unknown(name));
        };
        say(folded(&benchmarks::describe(benchmark), columns()))?;
        Ok(0)
    }
}
