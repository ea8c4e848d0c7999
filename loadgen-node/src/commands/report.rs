//! `loadgen-node report`: runs, for people to look at and for other programs to read.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::{RunError, output, recording::run::RecordedRun, report};

/// Keys of `loadgen-node report`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Folders of runs that have ended
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// html: a page for any browser, without a network; markdown: tables; csv: a row for each run and for each of its nodes
    #[arg(long, value_name = "FORMAT", default_value = "html", help_heading = "Output")]
    format: Format,
    /// The file, or - for standard output [default: report.html in the run's folder; - for markdown and csv, and for the page of
    /// several runs report.html here]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Html,
    Markdown,
    Csv,
}

/// The page's name where none is given.
const PAGE: &str = "report.html";

impl ReportArgs {
    /// Reads the runs and writes the report.
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
        write(self.output.as_deref().unwrap_or(&default), &text)?;
        Ok(0)
    }
}

/// Writes a text to a file, and says so, or to standard output.
fn write(path: &Path, text: &str) -> Result<(), RunError> {
    if path.as_os_str() == "-" {
        return output::say(text.trim_end());
    }
    output::write(path, text.as_bytes())?;
    output::report(path.display());
    Ok(())
}
