//! `loadgen-node submission`: a submission made from runs.

use std::path::{Path, PathBuf};

use netdiv_rules::submission::{self, MakeError, NewSubmission, Strictness, SubmissionSettings};

use crate::{
    RunError, output,
    settings::{TableArgs, usage},
    sources::SOURCES,
};

/// Options of `loadgen-node submission`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Submission")]
pub(crate) struct SubmissionArgs {
    /// Settings of the submission: its runs, and facts that no machine knows; docs/SUBMISSION.md
    /// lists the keys
    #[arg(long, value_name = "FILE", default_value = "submission.toml")]
    settings: PathBuf,
    /// Folder for the tree; it must not exist
    #[arg(long, value_name = "DIR", default_value = "tree")]
    output: PathBuf,
    /// Make a tree even if it breaks rules of its division, for practice; the tree states that
    #[arg(long)]
    rehearsal: bool,
    /// Refuse a submission if a rule cannot be decided
    #[arg(long, conflicts_with = "rehearsal")]
    strict: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl SubmissionArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        if self.output.exists() {
            let output = self.output.display();
            return usage(format!("--output {output}: it exists already; choose a new folder"));
        }
        let table = self.table.read()?;
        let refused = |gaps| RunError::Usage(MakeError::Refused(gaps).to_string());
        let settings =
            SubmissionSettings::read(&self.settings).map_err(|gap| refused(vec![gap]))?;
        let base = self.settings.parent().unwrap_or(Path::new("."));
        let strictness = match (self.strict, self.rehearsal) {
            (true, _) => Strictness::Strict,
            (_, true) => Strictness::Rehearsal,
            _ => Strictness::Usual,
        };
        let made = submission::make(&settings, base, &table, SOURCES, strictness, &self.output);
        let NewSubmission { tree, open } = made.map_err(|error| match error {
            MakeError::Refused(gaps) => refused(gaps),
            MakeError::Folder(error) => output::unwritten(&self.output, error),
        })?;
        output::report(format_args!("{} files in {}", tree.len(), self.output.display()));
        if !open.is_empty() {
            let open: Vec<_> = open.iter().map(|one| format!("  {one}")).collect();
            let open = open.join("\n");
            output::report(format_args!("These rules cannot be decided:\n{open}"));
        }
        Ok(0)
    }
}
