//! Compares the formats with the scripts of mlcommons/inference. `NETDIV_MLCOMMONS` names a
//! checkout with all tags.

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use crate::{
    Scenario,
    book::formats::{BOOK, FormatRow},
};

struct Checkout(PathBuf);

impl Checkout {
    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git").arg("-C").arg(&self.0).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn source(&self, tag: &str, path: &str) -> String {
        self.git(&["show", &format!("{tag}:{path}")])
    }

    /// Tags from v5.0 on.
    fn tags(&self) -> Vec<String> {
        let is_later = |tag: &&str| {
            let major = tag.strip_prefix('v').and_then(|tag| tag.split('.').next());
            major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 5)
        };
        self.git(&["tag"]).lines().filter(is_later).map(str::to_owned).collect()
    }
}

/// Extracts the patterns of the dictionary `ACC_PATTERN` from Python source code.
fn patterns(source: &str) -> BTreeMap<String, String> {
    let (_, rest) = source.split_once("ACC_PATTERN = {").unwrap();
    let (dictionary, _) = rest.split_once("\n}").unwrap();
    let pattern = |line: &str| {
        let (name, rest) = line.trim().strip_prefix('"')?.split_once("\": r")?;
        let rest = rest.trim_end_matches(',');
        let quote = rest.chars().next()?;
        Some((name.to_owned(), plain(rest.strip_prefix(quote)?.strip_suffix(quote)?)))
    };
    dictionary.lines().filter_map(pattern).collect()
}

/// Converts a Python pattern into the form of `formats.toml`: without anchor, needless escapes and
/// a final `.*`.
fn plain(pattern: &str) -> String {
    let bare = ["\\\"", "\\'", "\\:"]
        .iter()
        .fold(pattern.to_owned(), |text, escaped| text.replace(escaped, &escaped[1..]));
    let bare = bare.replace("[\\d\\.]", "[\\d.]").replace("[0-9\\.]", "[0-9.]");
    let bare = bare.strip_prefix('^').unwrap_or(&bare);
    let bare = bare.strip_suffix(".*").unwrap_or(bare);
    // Python reads these braces literally.
    let mut text = String::new();
    for c in bare.chars() {
        if "{}".contains(c) && !text.ends_with('\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

fn row(file: &str, tag: &str) -> &'static FormatRow {
    let is_it = |row: &&FormatRow| row.file == file && row.tags.iter().any(|known| known == tag);
    BOOK.rows.iter().find(is_it).unwrap_or_else(|| panic!("{file} has no row of {tag}"))
}

/// Returns the texts of a row that the source of its program lacks.
fn missing(row: &FormatRow, source: &str) -> Vec<String> {
    let is_there = |text: &&String| source.contains(text.as_str());
    let texts = row.needs.iter().flatten().chain(&row.figures);
    let mut missing: Vec<_> = texts.filter(|text| !is_there(text)).cloned().collect();
    missing.extend(Some(row.mark.clone()).filter(|mark| !source.contains(mark.trim_end())));
    for (scenario, starts) in &row.scores {
        // LoadGen inserts the percentile into the line of a stream scenario.
        let is_printed = |start: &&String| match scenario {
            Scenario::Offline | Scenario::Server => source.contains(start.as_str()),
            _ => source.contains("th percentile estimate: "),
        };
        missing.extend(starts.iter().filter(|start| !is_printed(start)).cloned());
    }
    missing
}

#[test]
#[cfg_attr(
    not(netdiv_mlcommons),
    ignore = "needs a checkout of mlcommons/inference: set NETDIV_MLCOMMONS"
)]
fn formats_are_those_of_the_scripts() {
    let folder = std::env::var_os("NETDIV_MLCOMMONS").expect("NETDIV_MLCOMMONS names a checkout");
    let checkout = Checkout(folder.into());
    let head = checkout.git(&["rev-parse", "--short=8", "HEAD"]).trim().to_owned();
    let mut tags = checkout.tags();
    assert!(!tags.is_empty(), "the checkout has no tags: fetch them");
    tags.push(head);
    let mut differ = Vec::new();
    for tag in &tags {
        let checker = row("accuracy.txt", tag);
        let official = patterns(&checkout.source(tag, &checker.source));
        let ours = checker.metrics.iter().map(|(name, pattern)| (name.clone(), pattern.text()));
        if ours.collect::<BTreeMap<_, _>>() != official {
            differ.push(format!("{tag}: ACC_PATTERN is {official:?}"));
        }
        for row in BOOK.rows.iter().filter(|row| row.tags.contains(tag)) {
            let lost = missing(row, &checkout.source(tag, &row.source));
            differ.extend(lost.iter().map(|text| format!("{tag}: {} has no `{text}`", row.source)));
        }
    }
    assert_eq!(differ, [""; 0], "write rows for these in formats.toml");
}

#[test]
fn patterns_are_read_out_of_python() {
    let source = "X = 1\nACC_PATTERN = {\n    \"acc\": r\"^(?:\\{\\\"accuracy)[\\\": ]*=?\\s*([\\d\\.]+).*\",\n    # a comment\n    \
                  \"F1\": r\"^{[\\\"\\']f1[\\\"\\']\\:([\\d\\.]+)}\",\n    \"f\": r'\\{.*\"f1\":\\s*([\\d\\.]+).*\\}',\n}\nY = 2\n";
    let read = patterns(source);
    assert_eq!(read["acc"], r#"(?:\{"accuracy)[": ]*=?\s*([\d.]+)"#);
    assert_eq!(read["F1"], r#"\{["']f1["']:([\d.]+)\}"#);
    assert_eq!(read["f"], r#"\{.*"f1":\s*([\d.]+).*\}"#);
}
