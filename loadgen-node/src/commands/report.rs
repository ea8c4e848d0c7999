//! `loadgen-node report`: reports of runs, as a page for a browser or as tables for other programs,
//! and the page of a network measurement.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use clap::ValueEnum;

use super::fabric::PAGE as FABRIC_PAGE;
use crate::{
    RunError, fabric, output,
    recording::sweep::{SWEEP, SweepRecord},
    recording::{RecordedRun, folder_name, runs_in},
    report::{self, page::Entry},
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

const PAGE: &str = "report.html";

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

    /// Returns the report. Addresses of other pages are relative to the folder of `path`.
    fn text(&self, path: &Path) -> Result<String, RunError> {
        match (self.format, &self.runs[..]) {
            (Format::Html, [folder]) if output::is_fabric(folder) => {
                return Ok(report::page::fabric(&fabric::report::Report::read(folder)?));
            }
            (Format::Html, [folder]) if folder.join(SWEEP).exists() => {
                return Ok(report::page::sweep(&SweepRecord::read(folder)?));
            }
            _ => {}
        }
        let base = path.parent().and_then(|folder| folder.join(".").canonicalize().ok());
        let (mut entries, mut unread) = (Vec::new(), Vec::new());
        for folder in &self.runs {
            if !is_folder_of_runs(folder) {
                let run = RecordedRun::read(folder)?;
                let link = link(folder, base.as_deref());
                entries.push(Entry { name: folder.display().to_string(), link, run });
                continue;
            }
            for inside in runs_in(folder)? {
                let name = inside.strip_prefix(folder).unwrap_or(&inside).display().to_string();
                match RecordedRun::read(&inside) {
                    Ok(run) => {
                        entries.push(Entry { name, link: link(&inside, base.as_deref()), run });
                    }
                    Err(why) if self.format == Format::Html => unread.push(why.to_string()),
                    Err(why) => return Err(why),
                }
            }
        }
        if entries.is_empty() {
            return Err(RunError::Usage(unread.join("\n")));
        }
        let runs = || entries.iter().map(|entry| &entry.run);
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

/// Returns the address of a run's page, or of its folder if it has no page: relative to `base` if
/// the run is inside.
fn link(run: &Path, base: Option<&Path>) -> String {
    let page = run.join(PAGE);
    let target = if page.exists() { page } else { run.to_owned() };
    let target = target.canonicalize().unwrap_or(target);
    let inside = base.and_then(|base| target.strip_prefix(base).ok());
    let mut link = String::from(if inside.is_some() { "./" } else { "" });
    for byte in inside.unwrap_or(&target).as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => link.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => link.push(char::from(*byte)),
            byte => link += &format!("%{byte:02X}"),
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_and_escaped() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let run = base.join("rate 100%:é");
        std::fs::create_dir(&run).unwrap();
        assert_eq!(link(&run, Some(&base)), "./rate%20100%25%3A%C3%A9");
        std::fs::write(run.join(PAGE), "").unwrap();
        assert_eq!(link(&run, Some(&base)), "./rate%20100%25%3A%C3%A9/report.html");
        assert!(link(&run, None).starts_with('/'));
    }
}
