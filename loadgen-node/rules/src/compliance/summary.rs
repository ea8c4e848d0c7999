//! `mlperf_log_summary.txt`, read as the official scripts read it.

use std::{collections::BTreeMap, path::Path};

use super::ComplianceError;
use crate::regular;

/// What a summary says.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// The scenario's official name; empty where the file has none.
    pub(super) scenario: String,
    /// What the scenario is scored by: samples per second, or nanoseconds in the streams.
    pub(super) score: Option<Score>,
    /// What LoadGen calls the result, each time that it does.
    pub(super) results: Vec<String>,
    /// Numbers of errors, where LoadGen counts any.
    pub(super) errors: Vec<String>,
    /// All `key: value` lines, among them the settings that were in effect.
    pub(super) values: BTreeMap<String, String>,
}

/// A score, as it is written and as a number.
#[derive(Debug, Clone)]
pub(super) struct Score {
    pub(super) text: String,
    pub(super) value: f64,
}

impl Summary {
    pub(super) fn read(path: &Path) -> Result<Self, ComplianceError> {
        let text =
            regular::read_to_string(path).map_err(|error| ComplianceError::new(path, error))?;
        Self::parse(&text).map_err(|why| ComplianceError::new(path, why))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut summary = Self::default();
        for line in text.split(['\n', '\r']) {
            if let Some((key, value)) = line.split_once(": ") {
                summary.values.insert(key.trim_end().into(), trim(value).into());
            }
            // The order counts: what stands before the scenario is no score.
            if line.starts_with("Scenario") {
                summary.scenario = value(line)?.into();
            } else if is_score(&summary.scenario, line) {
                summary.score = Some(score(value(line)?)?);
            } else if line.starts_with("Result is") {
                summary.results.push(value(line)?.into());
            } else if let Some((count, rest)) = line.split_once(' ')
                && rest.starts_with("ERROR")
                && !count.is_empty()
                && count.bytes().all(|byte| byte.is_ascii_digit())
            {
                summary.errors.push(count.into());
            }
        }
        Ok(summary)
    }

    /// Whether LoadGen calls the result invalid.
    pub(super) fn invalid(&self) -> bool {
        self.results.iter().any(|result| result == "INVALID")
    }
}

fn is_score(scenario: &str, line: &str) -> bool {
    match scenario {
        "SingleStream" => line.contains("Early stopping 90th percentile estimate"),
        "MultiStream" => line.contains("Early stopping 99th percentile estimate"),
        "Server" => line.starts_with("Completed samples per second"),
        "Offline" => line.starts_with("Samples per second"),
        _ => false,
    }
}

/// What follows the first `: `.
fn value(line: &str) -> Result<&str, String> {
    line.split_once(": ")
        .map(|(_, value)| trim(value))
        .ok_or_else(|| format!("the line `{line}` has no value"))
}

/// What Python calls white space has four control characters more.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
}

fn score(text: &str) -> Result<Score, String> {
    match text.parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(Score { text: text.into(), value }),
        _ => Err(format!("the score `{text}` is no positive number")),
    }
}
