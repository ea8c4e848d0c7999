//! `loadgen-node report`: reports of runs, as a page for a browser or as tables for other programs.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::{RunError, output, recording::RecordedRun, report};

/// Options of `loadgen-node report`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Folders of finished runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// html: a page for any browser, without network access; markdown: tables; csv: a row for each
    /// run and for each of its nodes
    #[arg(long, value_name = "FORMAT", default_value = "html", help_heading = "Output")]
    format: Format,
    /// File to write, or - for standard output [default: report.html in the run's folder; for
    /// several runs report.html in this folder; - for markdown and csv]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Html,
    Markdown,
    Csv,
}

const PAGE: &str = "report.html";

impl ReportArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let runs = self.runs.iter().map(|folder| RecordedRun::read(folder));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        let text = match self.format {
            Format::Html => report::page::html(&runs),
            Format::Markdown => report::listing::markdown(&runs),
            Format::Csv => report::listing::csv(&runs)?,
        };
        let default = match (self.format, &self.runs[..]) {
            (Format::Html, [run]) => run.join(PAGE),
            (Format::Html, _) => PAGE.into(),
            _ => "-".into(),
        };
        let path = self.output.as_ref().unwrap_or(&default);
        if output::put(path, &text)? {
            output::report(path.display());
        }
        Ok(0)
    }
}
