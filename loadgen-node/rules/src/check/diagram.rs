//! Of N23: the drawing shows what there is, and nothing else.

use std::collections::BTreeMap;

use super::likeness::{quoted, words};
use crate::facts::svg::{Drawn, Text, drawn};

/// What a drawing lacks of the one that was made again, and what it has beside. Layout and division into lines are free.
/// What it may show as well is not held against it.
pub(super) fn unlike(ours: &str, svg: &str, may_show: impl Fn(&str) -> bool) -> Vec<String> {
    if ours == svg {
        return Vec::new();
    }
    let Drawn { seen, hidden } = match drawn(svg) {
        Ok(drawn) => drawn,
        Err(why) => return vec![why],
    };
    let ours = drawn(ours).map(|drawn| drawn.seen).unwrap_or_default();
    let (missing, mut surplus) = (without(&ours, &seen), without(&seen, &ours));
    if missing.is_empty() && surplus.is_empty() {
        return exchanged(ours, seen);
    }
    surplus.retain(|text| !may_show(text));
    // The same words in other lines are the same.
    let balance = balance(&missing, &surplus);
    let is_short = |text: &&String| words(text).any(|word| balance[word] > 0);
    let is_long = |text: &&String| words(text).any(|word| balance[word] < 0) && !may_show(text);
    let missing: Vec<_> = missing.iter().filter(is_short).collect();
    let mut wrong = quoted("does not show", &missing);
    wrong.extend(quoted("shows, as nothing else does,", surplus.iter().filter(is_long)));
    let needed = hidden.iter().find(|(text, _)| missing.contains(&text));
    wrong.extend(needed.map(|(text, why)| format!("has `{text}` where it does not count: {why}")));
    wrong
}

/// The texts of one that the other does not have, or has not as often.
fn without(all: &[Text], others: &[Text]) -> Vec<String> {
    let mut others: Vec<_> = others.iter().map(|text| &text.text).collect();
    let mut rest = Vec::new();
    for Text { text, .. } in all {
        match others.iter().position(|other| *other == text) {
            Some(place) => drop(others.swap_remove(place)),
            None => rest.push(text.clone()),
        }
    }
    rest
}

/// How much oftener each word is in the first than in the second.
fn balance<'a>(first: &'a [String], second: &'a [String]) -> BTreeMap<&'a str, i64> {
    let mut balance = BTreeMap::new();
    for (texts, step) in [(first, 1), (second, -1)] {
        for word in texts.iter().flat_map(|text| words(text)) {
            *balance.entry(word).or_default() += step;
        }
    }
    balance
}

/// In a drawing with our places, texts that stand in each other's.
fn exchanged(mut ours: Vec<Text>, mut theirs: Vec<Text>) -> Vec<String> {
    let by_place =
        |one: &Text, other: &Text| one.x.total_cmp(&other.x).then(one.y.total_cmp(&other.y));
    ours.sort_by(by_place);
    theirs.sort_by(by_place);
    let pairs = || ours.iter().zip(&theirs);
    if pairs().any(|(one, other)| (one.x, one.y) != (other.x, other.y)) {
        return Vec::new();
    }
    let moved = pairs().filter(|(one, other)| one.text != other.text);
    quoted("shows in the place of another text", moved.map(|(_, other)| &other.text))
}
