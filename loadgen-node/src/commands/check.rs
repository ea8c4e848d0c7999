//! `loadgen-node check`: a check of a run or a submission against the rules of a division.

use std::path::PathBuf;

use netdiv_node_common::process::{columns, fold_tables};
use netdiv_rules::{
    Outcome, Rule,
    book::RoundName,
    check::{Options, check},
};

use crate::{RunError, output::say, settings::TableArgs};

/// Options of `loadgen-node check`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Check")]
pub(crate) struct CheckArgs {
    /// Folder of a run, or tree of a submission
    path: PathBuf,
    /// Another run or submission to compare the network with, for an audit
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Round to judge by, such as v6.0, instead of the one that records, seeds, LoadGen's version
    /// or folders show
    #[arg(long, value_name = "ROUND")]
    round: Option<RoundName>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Count a rule that cannot be decided as broken, except N37 without --against
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl CheckArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let table = self.table.read()?;
        self.round.map(|round| table.known_round(round)).transpose().map_err(RunError::Usage)?;
        let options = Options { against: self.against.as_deref(), round: self.round };
        let report = check(&self.path, &table, &options).map_err(RunError::invalid)?;
        if self.json {
            let json = serde_json::to_string_pretty(&report);
            say(json.map_err(RunError::failed)?)?;
        } else {
            say(fold_tables(&report.text(), columns()))?;
            if columns().is_some() {
                say("docs/GLOSSARY.md explains the terms.")?;
            }
        }
        // Without --against, N37 has nothing to compare with.
        let counts = |rule: &Rule| *rule != Rule::N37 || self.against.is_some();
        let is_open = |rule: Rule| report.outcome(rule) == Outcome::CannotTell;
        let is_unknown = self.strict && Rule::all().filter(counts).any(is_open);
        Ok(u8::from(report.failed() || is_unknown))
    }
}
