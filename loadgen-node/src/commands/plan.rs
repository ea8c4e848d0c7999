//! `loadgen-node plan`: the duration of a run, its queries, and its needs.

use netdiv_node_common::process::{columns, fold_tables};
use netdiv_rules::{
    Division, Scenario,
    plan::{self, Rate},
};

use crate::{RunError, output::say, settings::TableArgs};

/// Options of `loadgen-node plan`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("expected").required(true).args(["rate", "token_rate"]))]
#[command(next_help_heading = "Run")]
pub(crate) struct PlanArgs {
    /// Name of the benchmark
    benchmark: String,
    /// Scenario, by which LoadGen issues queries
    #[arg(long)]
    scenario: Scenario,
    /// Division of the submission; the closed division needs no run with digests [default: network]
    #[arg(long)]
    division: Option<Division>,
    /// Expected rate, in samples per second
    #[arg(long, value_name = "SAMPLES_PER_SECOND", value_parser = number)]
    rate: Option<f64>,
    /// Expected rate in tokens of outputs per second, for a language model
    #[arg(long, value_name = "TOKENS_PER_SECOND", value_parser = number)]
    token_rate: Option<f64>,
    /// Mean number of tokens of an output, for a language model [default: that of the reference
    /// implementation]
    #[arg(long, value_name = "N", value_parser = number)]
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
            .map_err(RunError::invalid)?;
        if self.division == Some(Division::Closed) {
            plan.leave_out_digests();
        }
        if self.json {
            let json = serde_json::to_string_pretty(&plan);
            say(json.map_err(|error| RunError::Failed(format!("the plan as JSON: {error}")))?)?;
        } else {
            say(fold_tables(&plan.text(), columns()))?;
        }
        Ok(0)
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "write a number, such as 250 or 0.5".into())
}
