//! Options of the report.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use crate::doctor::{data::Severity, report::Report};

/// Options of `doctor`, `probe` and `nodes`.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct ReportArgs {
    /// Write the report as JSON to FILE, or to standard output instead of the text if FILE is - or
    /// omitted
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Exit with code 1 if a finding has this severity or a higher one
    #[arg(long, value_name = "SEVERITY", default_value = "problem")]
    fail_on: Severity,
}

/// Failure to write the report.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", .path.display())]
pub struct ReportWriteError {
    /// Path of the file.
    pub path: PathBuf,
    /// Error that the system reported.
    pub error: io::Error,
}

impl ReportArgs {
    /// Writes the JSON file, if one is requested. Returns the text to print, which is `text` or
    /// JSON, and the exit code.
    pub fn put(&self, report: &Report, text: String) -> Result<(String, u8), ReportWriteError> {
        let text = match &self.json {
            None => text,
            Some(path) => {
                let failed = |error| ReportWriteError { path: path.clone(), error };
                let json = serde_json::to_string_pretty(report)
                    .map_err(|error| failed(io::Error::other(error)))?;
                if path.as_os_str() == "-" {
                    json
                } else {
                    let mut beside = path.clone().into_os_string();
                    beside.push(".part");
                    // Readers find the old file or the whole new one.
                    let written = fs::File::create(&beside)
                        .and_then(|mut file| writeln!(file, "{json}"))
                        .and_then(|()| fs::rename(&beside, path));
                    if written.is_err() {
                        let _ = fs::remove_file(&beside);
                    }
                    written.map_err(failed)?;
                    text
                }
            }
        };
        Ok((text, report.exit_code(self.fail_on)))
    }
}
