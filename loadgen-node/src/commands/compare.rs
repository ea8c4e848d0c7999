//! `loadgen-node compare`: a comparison of runs.

use std::path::{Path, PathBuf};

use crate::{
    RunError,
    comparison::{Comparison, Side},
    output, report,
    settings::usage,
};

/// Options of `loadgen-node compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// Folders to compare, the baseline first: each is a run's folder, or a folder with repeated
    /// runs in it
    #[arg(required = true, num_args = 2.., value_name = "RUN-OR-RUNS")]
    sides: Vec<PathBuf>,
    /// Maximum by which a figure may be worse than the baseline's. With one measurement on each
    /// side the noise is unknown, and a figure counts only if this option is given. Any loss of
    /// accuracy counts [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = share, help_heading = "Comparison")]
    tolerance: Option<f64>,
    /// File for a page that plots the distributions of latencies over each other; - writes it to
    /// standard output instead of the tables
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// File for the comparison as JSON; - writes it to standard output instead of the tables
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
}

impl CompareArgs {
    /// Compares, and prints the differences. Returns 1 if a figure is worse.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let both = [&self.html, &self.json].map(|path| path.as_deref() == Some(Path::new("-")));
        if both == [true, true] {
            return usage("--html and --json cannot both write to standard output");
        }
        let sides = self.sides.iter().map(|folder| Side::read(folder));
        let sides = sides.collect::<Result<Vec<_>, _>>()?;
        Side::check_alike(&sides)?;
        let comparison = Comparison::new(sides, self.tolerance)?;
        let json = serde_json::to_string_pretty(&comparison).map_err(RunError::failed)?;
        let page = || report::page::comparison(&comparison);
        let files = [
            self.html.as_deref().map(|path| (path, page())),
            self.json.as_deref().map(|path| (path, format!("{json}\n"))),
        ];
        let (mut table, mut written) = (true, String::new());
        for (path, text) in files.iter().flatten() {
            if output::put(path, text)? {
                written += &format!("\n{}", path.display());
            } else {
                table = false;
            }
        }
        if table {
            output::say(format_args!("{}{written}", report::comparison::render(&comparison)))?;
        }
        Ok(u8::from(comparison.regression))
    }
}

/// Parses a percentage into a share.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
    match number {
        Some(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("write a percentage from 0% to 1000%, such as 5%".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_percentage() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share(" 2.5 %"), Ok(0.025));
        for wrong in ["5", "-1%", "NaN%", "inf%", "1001%", "%", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
