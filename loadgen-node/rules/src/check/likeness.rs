//! Whether a document says what records, evidence and topology say, as `submission` would write it. One by another hand says
//! it in words of its own: for each row of ours, a line with all that the row says.

use std::collections::BTreeMap;

use super::findings::listed;
use crate::derived::markdown::{Row, on_one_line, rows};

/// What a document lacks of the one that was made again, and what its tables have beside.
pub(super) fn unlike(ours: &str, text: &str) -> Vec<String> {
    let expected = rows(ours);
    let mut wrong = if is_ours(ours, text) {
        let there: Vec<_> = lines(text).collect();
        quoted("does not say", lines(ours).filter(|line| !there.contains(line)))
    } else {
        without_rows(&expected, text)
    };
    let has_our_head = |row: &&Row| expected.iter().any(|one| one.head == row.head);
    let there = rows(text);
    let surplus = there.iter().filter(has_our_head).filter(|row| !expected.contains(row));
    wrong.extend(quoted("says, as nothing else does,", surplus.map(told)));
    wrong
}

/// The same of the report on the bandwidth, whose sections may be in any order and have nothing but figures of the runs.
/// Of the sections in `unknown` nothing is known.
pub(super) fn unlike_in_sections(ours: &str, text: &str, unknown: &[String]) -> Vec<String> {
    if !is_ours(ours, text) {
        let rows = rows(ours).into_iter().map(|mut row| {
            // Bytes and shares follow from the rates.
            let mut column = 0..;
            row.cells.retain(|_| column.next().is_some_and(|column| [0, 2, 3].contains(&column)));
            row
        });
        return without_rows(&rows.collect::<Vec<_>>(), text);
    }
    let (expected, there) = (sections(ours), sections(text));
    let none = Vec::new();
    let is_strange = |name: &&String| !expected.contains_key(*name) && !unknown.contains(name);
    let names = expected.keys().chain(there.keys().filter(is_strange));
    names
        .flat_map(|name| {
            let [want, have] = [&expected, &there].map(|all| all.get(name).unwrap_or(&none));
            let is_claim = |line: &&String| line.contains(|c: char| c.is_ascii_digit());
            let missing = want.iter().filter(|line| !have.contains(line));
            let surplus = have.iter().filter(|line| !want.contains(line)).filter(is_claim);
            let missing = quoted(&format!("does not say of {name}"), missing);
            [missing, quoted(&format!("says of {name}, as nothing else does,"), surplus)].concat()
        })
        .collect()
}

/// Whether `submission` wrote it: its heading says so.
fn is_ours(ours: &str, text: &str) -> bool {
    ours.lines().next() == text.lines().next()
}

fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(on_one_line).filter(|line| !line.is_empty())
}

/// Lines by the heading that they are under.
fn sections(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut sections = BTreeMap::new();
    let mut current = "the whole".to_owned();
    for line in lines(text) {
        if let Some(heading) = line.strip_prefix("## ") {
            current = heading.into();
        }
        sections.entry(current.clone()).or_insert_with(Vec::new).push(line);
    }
    sections
}

fn without_rows(expected: &[Row], text: &str) -> Vec<String> {
    let is_said = |row: &&Row| lines(text).any(|line| has_words(&line, &told(row)));
    quoted("does not say in one line", expected.iter().filter(|row| !is_said(row)).map(told))
}

/// Whether a line has all words of a text, each as often.
pub(super) fn has_words(line: &str, text: &str) -> bool {
    let mut words: Vec<_> = words(line).collect();
    self::words(text).all(|word| {
        let place = words.iter().position(|one| *one == word);
        place.map(|place| words.swap_remove(place)).is_some()
    })
}

/// The words of a text, without what stands between them.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "|,;()".contains(c));
    words.map(|word| word.trim_matches(['`', '.', ':', '*'])).filter(|word| !word.is_empty())
}

/// What a row says; what it does not know, nobody has to say.
fn told(row: &Row) -> String {
    let cells = row.cells.iter().filter(|cell| *cell != "not known").map(String::as_str);
    cells.collect::<Vec<_>>().join(", ")
}

/// One finding for all of them.
pub(super) fn quoted<T: AsRef<str>>(what: &str, texts: impl IntoIterator<Item = T>) -> Vec<String> {
    let texts: Vec<_> = texts.into_iter().map(|text| format!("`{}`", text.as_ref())).collect();
    if texts.is_empty() { Vec::new() } else { vec![format!("{what} {}", listed(&texts))] }
}
