//! `loadgen-node plan`: how long a run takes, how many queries it has, and what it needs.

use netdiv_rules::{Scenario, plan};

use crate::{RunError, output::say, settings::TableArgs};

/// Keys of `loadgen-node plan`.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// The benchmark
    benchmark: String,
    /// How LoadGen issues queries
    #[arg(long)]
    scenario: Scenario,
    /// The expected rate
    #[arg(long, value_name = "SAMPLES_PER_SECOND")]
    rate: f64,
    #[command(flatten)]
    table: TableArgs,
}

impl PlanArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let plan = plan::plan(&*self.table.read()?, &self.benchmark, self.scenario, self.rate)
            .map_err(|error| RunError::Usage(error.to_string()))?;
        say(plan.text())?;
        Ok(0)
    }
}
