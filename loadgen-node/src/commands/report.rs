//! `loadgen-node report`: reports of runs, as a page for a browser or as tables for other programs,
//! and the page of a network measurement.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::fabric::PAGE as FABRIC_PAGE;
use crate::{
    RunError, fabric, output,
    recording::sweep::{SWEEP, SweepRecord},
    recording::{RecordedRun, folder_name, runs_in},
    report::{
        self,
        page::{Entry, LINES, PAGE, link},
    },
};

/// Options of `loadgen-node report`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Folders of finished runs, or folders that contain such folders, up to three levels down; or one
    /// folder of `fabric` or of `sweep`, whose page is written again
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// html: a page for any browser, without network access; markdown: tables; csv: a row for each
    /// run and for each of its nodes
    #[arg(long, value_name = "FORMAT", default_value = "html", help_heading = "Output")]
    format: Format,
    /// File to write, or - for standard output [default: report.html or fabric.html in the given
    /// folder; for several folders report.html in this folder; - for markdown and csv]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Html,
    Markdown,
    Csv,
}

impl ReportArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let default = match (self.format, &self.runs[..]) {
            (Format::Html, [folder]) if output::is_fabric(folder) => folder.join(FABRIC_PAGE),
            (Format::Html, [run]) => run.join(PAGE),
            (Format::Html, _) => PAGE.into(),
            _ => "-".into(),
        };
        let path = self.output.as_ref().unwrap_or(&default);
        let text = self.text(path)?;
        if output::put(path, &text)? {
            output::report(path.display());
        }
        Ok(0)
    }

    /// Returns the report, whose file is `path`.
    fn text(&self, path: &Path) -> Result<String, RunError> {
        match (self.format, &self.runs[..]) {
            (Format::Html, [folder]) if output::is_fabric(folder) => {
                return Ok(report::page::fabric(&fabric::report::Report::read(folder)?));
            }
            (Format::Html, [folder]) if folder.join(SWEEP).exists() => {
                return report::page::sweep(&SweepRecord::read(folder)?, folder, path);
            }
            _ => {}
        }
        let (mut entries, mut unread) = (Vec::new(), Vec::new());
        let mut add = |name, mut run: RecordedRun| {
            if entries.len() >= LINES {
                run.forget_times();
            }
            let link = link(&run.folder, "", path);
            entries.push(Entry { name, link, run });
        };
        let is_alone = self.runs.len() == 1;
        for folder in &self.runs {
            if !is_folder_of_runs(folder) {
                let run = RecordedRun::read(folder)?;
                add(if is_alone { run.name() } else { folder.display().to_string() }, run);
                continue;
            }
            let (inside, unreadable) = runs_in(folder)?;
            unread.extend(unreadable);
            for run in inside {
                // Several folders may have runs of the same name.
                let name = run.strip_prefix(folder).ok().filter(|_| is_alone).unwrap_or(&run);
                match RecordedRun::read(&run) {
                    Ok(read) => add(name.display().to_string(), read),
                    Err(why) => unread.push(why.to_string()),
                }
            }
        }
        if entries.is_empty() || self.format != Format::Html && !unread.is_empty() {
            return Err(RunError::Usage(unread.join("\n")));
        }
        let runs = || entries.iter().map(|entry| (&entry.name[..], &entry.run));
        match (self.format, &entries[..], &self.runs[..]) {
            (Format::Markdown, ..) => Ok(report::listing::markdown(runs())),
            (Format::Csv, ..) => report::listing::csv(runs()),
            (Format::Html, [one], [folder]) if !is_folder_of_runs(folder) => {
                report::page::run(&one.run)
            }
            (Format::Html, all, [folder]) => {
                report::page::runs(&format!("Runs in {}", folder_name(folder)), all, &unread, false)
            }
            (Format::Html, all, _) => report::page::runs("Runs", all, &unread, true),
        }
    }
}

/// Returns true for a folder without a result or a measurement of its own.
fn is_folder_of_runs(folder: &Path) -> bool {
    let has = |file| folder.join(file).exists();
    folder.is_dir() && !has(output::RESULT) && !has(output::FABRIC)
}
