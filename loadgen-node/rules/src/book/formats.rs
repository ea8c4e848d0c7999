//! Formats of the files that MLCommons' scripts and LoadGen write. `formats.toml` describes them
//! for each tag of mlcommons/inference.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex_lite::Regex;
use serde::Deserialize;

use super::round::RoundName;
use crate::Scenario;

/// File formats of a round: the rows of `formats.toml` for the tags that its submitters used.
#[derive(Debug, Clone)]
pub struct Formats {
    /// Rows of the round's tags, newest first.
    rows: Vec<&'static FormatRow>,
}

/// Row of `formats.toml`: the format of a file at the tags whose programs use it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormatRow {
    /// Name of the file. For a file of a compliance test it includes the folder, as in
    /// `TEST01/verify_accuracy.txt`.
    pub(crate) file: String,
    /// Tags of mlcommons/inference whose programs use this format.
    pub(crate) tags: Vec<String>,
    /// Path of the program that reads or writes the file, in mlcommons/inference.
    pub(crate) source: String,
    /// Patterns by the official checker's name of the metric. A pattern finds the metric's figure
    /// in a line.
    #[serde(default)]
    pub(crate) metrics: BTreeMap<String, Pattern>,
    /// Texts that the official checker requires in a passing file: at least one text of each list.
    #[serde(default)]
    pub(crate) needs: Vec<Vec<String>>,
    /// True if a text of `needs` must be a whole line.
    #[serde(default)]
    pub(crate) whole_lines: bool,
    /// Names under which a script prints its two scores: the reference's, then the test's.
    #[serde(default)]
    pub(crate) figures: Vec<String>,
    /// Prefixes by scenario: a line of the summary with such a prefix contains the score.
    #[serde(default)]
    pub(crate) scores: BTreeMap<Scenario, Vec<String>>,
    /// Prefix of every entry in LoadGen's detail log; empty for other files.
    #[serde(default)]
    pub(crate) mark: String,
}

/// A pattern for the start of a line; its first group is a figure.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = regex_lite::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&format!("^(?:{text})")).map(Self)
    }
}

#[cfg(test)]
impl Pattern {
    /// Returns the pattern as written in `formats.toml`.
    pub(crate) fn text(&self) -> String {
        let text = self.0.as_str();
        text.strip_prefix("^(?:").and_then(|text| text.strip_suffix(')')).unwrap_or(text).to_owned()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Book {
    /// Tags of mlcommons/inference by round, oldest first.
    pub(crate) rounds: BTreeMap<RoundName, Vec<String>>,
    pub(crate) rows: Vec<FormatRow>,
}

/// Parsed `formats.toml`; empty if the file is invalid. A test parses it, so that no program has an
/// invalid file.
pub(crate) static BOOK: LazyLock<Book> =
    LazyLock::new(|| toml::from_str(include_str!("formats.toml")).unwrap_or_default());

impl Formats {
    /// Returns the formats of a round, or of all tags if the round is unknown or has no tags.
    pub fn of(round: Option<RoundName>) -> Self {
        let tags = round.and_then(|round| BOOK.rounds.get(&round));
        let is_its =
            |row: &&FormatRow| tags.is_none_or(|tags| row.tags.iter().any(|t| tags.contains(t)));
        Self { rows: BOOK.rows.iter().rev().filter(is_its).collect() }
    }

    /// Returns the tag or commit of mlcommons/inference with the accuracy scripts and the checker of
    /// a round: the newest that its submitters used. `None` for an unknown round.
    pub fn reference(round: RoundName) -> Option<&'static str> {
        BOOK.rounds.get(&round)?.last().map(String::as_str)
    }

    fn of_file(&self, file: &str) -> impl Iterator<Item = &'static FormatRow> {
        self.rows.iter().copied().filter(move |row| row.file == file)
    }

    /// Extracts the figure of a metric from a line of a script's output, with the patterns of the
    /// official checker at each tag. Returns `None` if no pattern matches.
    pub(crate) fn figure<'a>(&self, metric: &str, line: &'a str) -> Option<&'a str> {
        let rows = self.rows.iter().filter(|row| !row.metrics.is_empty());
        rows.filter_map(|row| row.metrics.get(metric)).find_map(|pattern| {
            let found = pattern.0.captures(line)?;
            Some(found.get(1)?.as_str())
        })
    }

    /// Lists the programs that read a file, with their tags.
    pub(crate) fn readers(&self, file: &str) -> String {
        let reader = |row: &FormatRow| format!("{} of {}", row.source, row.tags.join(" and "));
        self.of_file(file).map(reader).collect::<Vec<_>>().join(", ")
    }

    /// Returns the names under which a script prints two scores: the reference's and the test's.
    pub(crate) fn score_names(&self, file: &str) -> impl Iterator<Item = [&'static str; 2]> {
        self.of_file(file).filter_map(|row| match row.figures.as_slice() {
            [reference, test] => Some([reference.as_str(), test.as_str()]),
            _ => None,
        })
    }

    /// Returns the required text that a file lacks, such as `TEST PASS`. `None` if the file passes
    /// at one of the tags, or if no tag has such a file.
    pub(crate) fn lacking(&self, file: &str, text: &str) -> Option<String> {
        let mut rows = self.of_file(file).map(|row| row.lacking(text)).peekable();
        rows.peek()?;
        let lacking: Option<Vec<_>> = rows.collect();
        lacking?.into_iter().next()
    }

    /// Returns the names of the files in which a compliance test reports its verdict, without the
    /// test's folder.
    pub(crate) fn files_of(&self, test: &str) -> BTreeSet<&'static str> {
        let rows = self.rows.iter().filter(|row| !row.needs.is_empty());
        rows.filter_map(|row| row.file.strip_prefix(test)?.strip_prefix('/')).collect()
    }
}

impl FormatRow {
    /// Returns the first required text that is missing in `text`; alternatives are joined by ` or
    /// `.
    fn lacking(&self, text: &str) -> Option<String> {
        let is_there = |wanted: &String| match self.whole_lines {
            true => text.lines().any(|line| line.trim() == wanted),
            false => text.contains(wanted.as_str()),
        };
        let missing = self.needs.iter().find(|choices| !choices.iter().any(is_there))?;
        Some(missing.join(" or "))
    }
}

/// Returns the JSON text of an entry in a line of LoadGen's detail log; `None` if the line is not
/// an entry.
pub(crate) fn entry_of(line: &str) -> Option<&str> {
    let marks = BOOK.rows.iter().map(|row| row.mark.as_str()).filter(|mark| !mark.is_empty());
    marks.into_iter().find_map(|mark| line.strip_prefix(mark))
}

/// Returns true if a line of LoadGen's summary contains the score of a scenario, in the format of
/// any tag.
pub(crate) fn has_score(scenario: Scenario, line: &str) -> bool {
    let line = line.trim_start_matches([' ', '*']);
    let starts = BOOK.rows.iter().filter_map(|row| row.scores.get(&scenario)).flatten();
    starts.into_iter().any(|start| line.starts_with(start.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Table;

    #[test]
    fn every_round_has_every_file() {
        let files = [
            "accuracy.txt",
            "TEST01/verify_accuracy.txt",
            "TEST01/verify_performance.txt",
            "TEST04/verify_performance.txt",
            "TEST06/verify_accuracy.txt",
            "mlperf_log_detail.txt",
            "mlperf_log_summary.txt",
        ];
        for round in &Table::builtin().unwrap().rounds {
            let tags = &BOOK.rounds[&round.name];
            for (tag, file) in tags.iter().flat_map(|tag| files.map(|file| (tag, file))) {
                let is_it = |row: &&FormatRow| row.file == file && row.tags.contains(tag);
                assert_eq!(BOOK.rows.iter().filter(is_it).count(), 1, "{file} at {tag}");
            }
            let readers = Formats::of(Some(round.name)).readers("accuracy.txt");
            assert!(tags.iter().all(|tag| readers.contains(tag.as_str())), "{readers}");
        }
        let of_6_0 = Formats::of("v6.0".parse().ok());
        assert_eq!(of_6_0.files_of("TEST09"), BTreeSet::from(["verify_output_len.txt"]));
        assert!(Formats::of("v5.0".parse().ok()).files_of("TEST09").is_empty());
    }

    #[test]
    fn a_round_is_read_in_its_own_format() {
        let figure = |round: &str, metric: &str, line| {
            Formats::of(round.parse().ok()).figure(metric, line).map(str::to_owned)
        };
        let quoted = "{'rouge1': '38.7898', 'rougeLsum': '35.8053', 'gen_len': 8163079}";
        assert_eq!(figure("v5.0", "ROUGE1", quoted), None);
        for round in ["v5.1", "v6.0", "none"] {
            assert_eq!(figure(round, "ROUGE1", quoted).as_deref(), Some("38.7898"), "{round}");
            assert_eq!(figure(round, "ROUGELSUM", quoted).as_deref(), Some("35.8053"), "{round}");
            assert_eq!(figure(round, "GEN_LEN", quoted).as_deref(), Some("8163079"), "{round}");
        }
        let wer = "Word Error Rate: 2.1%, accuracy=97.9%";
        assert_eq!(figure("v5.0", "WER", wer).as_deref(), Some("97.9"));
        assert_eq!((figure("v6.0", "WER", wer), figure("v5.0", "ACCURACY", wer)), (None, None));
        assert_eq!(figure("v6.0", "ACCURACY", wer).as_deref(), Some("97.9"));
        let f1 = r#"{"exact_match": 83.67, "f1": 90.87}"#;
        assert_eq!(figure("v6.0", "F1", f1).as_deref(), Some("90.87"));
    }

    #[test]
    fn a_verification_passes_by_its_texts() {
        let lacking = |round: &str, file: &str, text: &str| {
            Formats::of(round.parse().ok()).lacking(file, text)
        };
        let of_1 = "TEST01/verify_accuracy.txt";
        assert_eq!(lacking("v5.0", of_1, "a\nTEST PASS\n"), None);
        assert_eq!(lacking("v5.0", of_1, "TEST FAIL\n").as_deref(), Some("TEST PASS"));
        let of_6 = "TEST06/verify_accuracy.txt";
        let passes = "First token check pass: Skipped\nEOS check pass: True\n Sample length check pass: True\n";
        assert_eq!(lacking("v6.0", of_6, passes), None);
        let fails = passes.replace("EOS check pass: True", "EOS check pass: False");
        assert_eq!(lacking("v6.0", of_6, &fails).as_deref(), Some("EOS check pass: True"));
        assert_eq!(lacking("v5.1", "TEST09/verify_output_len.txt", ""), None);
        assert!(lacking("v6.0", "TEST09/verify_output_len.txt", "TEST FAIL").is_some());
    }

    #[test]
    fn entries_have_loadgens_mark() {
        assert_eq!(entry_of(":::MLLOG {}"), Some("{}"));
        assert_eq!(entry_of("noise :::MLLOG {}"), None);
        let names = |round: &str, file| {
            Formats::of(round.parse().ok())
                .score_names(file)
                .map(|[first, _]| first)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("v5.0", "TEST01/verify_performance.txt"), ["reference score"]);
        let of_5_1 = names("v5.1", "TEST01/verify_performance.txt");
        assert_eq!(of_5_1, ["Reference score", "Reference score"]);
        assert_eq!(names("v5.1", "TEST04/verify_performance.txt"), ["reference score"; 2]);
    }

    #[test]
    fn scores_of_all_tags_are_found() {
        for (scenario, line) in [
            (Scenario::SingleStream, " * Early stopping 90th percentile estimate: 12"),
            (Scenario::SingleStream, " * Early stopping 90.0th percentile estimate: 12"),
            (Scenario::MultiStream, "Early stopping 99.0th percentile estimate: 12"),
            (Scenario::Server, "Completed samples per second    : 82.59"),
            (Scenario::Offline, "Samples per second: 20"),
        ] {
            assert!(has_score(scenario, line), "{line}");
        }
        assert!(!has_score(Scenario::Offline, "Completed samples per second    : 82.59"));
        assert!(!has_score(Scenario::Server, "Scheduled samples per second : 83.01"));
    }
}
