//! `loadgen-node plan`: how long a run takes, how many queries it has, and what it needs.

use netdiv_node_common::process::{columns, folded};
use netdiv_rules::{
    Division, Scenario,
    plan::{self, Rate},
};

use crate::{RunError, output::say, settings::TableArgs};

/// Keys of `loadgen-node plan`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("expected").required(true).args(["rate", "token_rate"]))]
#[command(next_help_heading = "Run")]
pub(crate) struct PlanArgs {
    /// The benchmark
    benchmark: String,
    /// How LoadGen issues queries
    #[arg(long)]
    scenario: Scenario,
    /// The division of the submission: in the closed one no run needs digests [default: network]
    #[arg(long)]
    division: Option<Division>,
    /// The expected rate
    #[arg(long, value_name = "SAMPLES_PER_SECOND")]
    rate: Option<f64>,
    /// The expected rate in tokens of outputs, for a language model
    #[arg(long, value_name = "TOKENS_PER_SECOND")]
    token_rate: Option<f64>,
    /// Tokens of an output on average, for a language model [default: those of the reference implementation]
    #[arg(long, value_name = "N")]
    output_tokens: Option<f64>,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl PlanArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let rate = match (self.rate, self.token_rate) {
            (Some(rate), _) => Rate::SamplesPerSecond(rate),
            (None, tokens) => Rate::TokensPerSecond(tokens.unwrap_or_default()),
        };
        let table = self.table.read()?;
        let mut plan = plan::plan(&table, &self.benchmark, self.scenario, rate, self.output_tokens)
            .map_err(|error| RunError::Usage(error.to_string()))?;
        if self.division == Some(Division::Closed) {
            plan.leave_out_digests();
        }
        if self.json {
            let json = serde_json::to_string_pretty(&plan);
            say(json.map_err(|error| RunError::Failed(format!("the plan as JSON: {error}")))?)?;
        } else {
            say(folded(&plan.text(), columns()))?;
        }
        Ok(0)
    }
}
