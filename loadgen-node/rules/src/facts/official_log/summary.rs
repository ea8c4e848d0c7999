//! Reads `mlperf_log_summary.txt` like the official scripts.

use std::{collections::BTreeMap, io, path::Path};

use crate::{Scenario, book::formats::has_score, input::files};

/// Prefixes of lines that LoadGen writes twice if it counts tokens: among the results and among the
/// statistics, or for first and further tokens (`results.cc`).
const REPEATED_LINES: [&str; 2] = ["Completed tokens per second", "* Early stopping"];

#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Official name of the scenario; empty if the file has none.
    pub(crate) scenario: String,
    /// Score of the scenario: samples per second, or nanoseconds in the streams.
    pub(crate) score: Option<Score>,
    /// All of LoadGen's verdicts on the result.
    pub(crate) results: Vec<String>,
    /// Numbers of errors, as written, if LoadGen counts any.
    pub(crate) errors: Vec<String>,
    /// Values of all `key: value` lines by key, in file order. They include the effective settings.
    values: BTreeMap<String, Vec<String>>,
    /// Problem of the first line that an official script cannot read.
    pub(crate) malformed: Option<String>,
}

/// A score, as text and as a number.
#[derive(Debug, Clone)]
pub(crate) struct Score {
    pub(crate) text: String,
    pub(crate) value: f64,
}

impl Summary {
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&files::read_to_string(path)?))
    }

    fn of(text: &str) -> Self {
        let mut summary = Self::default();
        for line in text.split(['\n', '\r']) {
            if let Some((key, value)) = line.split_once(": ") {
                let values = summary.values.entry(key.trim_end().into()).or_default();
                values.push(trim(value).into());
            }
            if let Err(why) = summary.add(line) {
                summary.malformed.get_or_insert(why);
            }
        }
        summary
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        // The order counts: a line before the scenario is not a score.
        if line.starts_with("Scenario") {
            self.scenario = value(line)?.into();
        } else if is_score(&self.scenario, line) {
            self.score = Some(score(value(line)?)?);
        } else if line.starts_with("Result is") {
            self.results.push(value(line)?.into());
        } else if let Some((count, rest)) = line.split_once(' ')
            && rest.starts_with("ERROR")
            && !count.is_empty()
            && count.bytes().all(|byte| byte.is_ascii_digit())
        {
            self.errors.push(count.into());
        }
        Ok(())
    }

    /// Returns true if a key has several lines although LoadGen writes one.
    pub(crate) fn repeats(&self, key: &str) -> bool {
        self.repeated().any(|(repeated, _)| repeated.trim() == key.trim())
    }

    pub(crate) fn is_invalid(&self) -> bool {
        self.results.iter().any(|result| result == "INVALID")
    }

    /// Returns the last value of a key. If a key has several values, the last one counts.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.values(key).last().map(String::as_str)
    }

    pub(crate) fn values(&self, key: &str) -> &[String] {
        self.values.get(key).map_or(&[], Vec::as_slice)
    }

    /// Returns the keys with several lines although LoadGen writes one, each with its values.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        let may_repeat =
            |key: &str| REPEATED_LINES.iter().any(|start| key.trim_start().starts_with(start));
        self.values.iter().filter(move |(key, values)| values.len() > 1 && !may_repeat(key))
    }

    pub(crate) fn starting_with(
        &self,
        prefix: &'static str,
    ) -> impl Iterator<Item = (&String, &Vec<String>)> {
        self.values.iter().filter(move |(key, _)| key.starts_with(prefix))
    }
}

fn is_score(scenario: &str, line: &str) -> bool {
    Scenario::of_official_name(scenario).is_some_and(|scenario| has_score(scenario, line))
}

/// Returns the text after the first `: `.
fn value(line: &str) -> Result<&str, String> {
    line.split_once(": ")
        .map(|(_, value)| trim(value))
        .ok_or_else(|| format!("the line `{line}` has no value"))
}

/// Trims white space like Python, which includes four further control characters.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
}

fn score(text: &str) -> Result<Score, String> {
    match text.parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(Score { text: text.into(), value }),
        _ => Err(format!("the score `{text}` is not a positive number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_loadgen_writes_twice_are_no_repetition() {
        let repeated = |text: &str| {
            let summary = Summary::of(text);
            summary.repeated().map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        let tokens = "Completed tokens per second: 7.5\nCompleted tokens per second                 : 7.50\n\
                      TTFT Early Stopping Result:\n * Early stopping 90.0th percentile estimate: 1\n\
                      TPOT Early Stopping Result:\n * Early stopping 90.0th percentile estimate: 2\n";
        assert_eq!(repeated(tokens), [""; 0]);
        assert_eq!(repeated("Result is : VALID\nResult is : INVALID\n"), ["Result is"]);
        assert!(Summary::of("target_qps : 1\ntarget_qps : 1\n").repeats("target_qps"));
    }
}
