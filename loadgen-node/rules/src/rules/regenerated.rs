//! A document of a submission beside the one that `submission` makes of the same runs.

use std::collections::BTreeSet;

use super::made_again::Texts;
use crate::{
    drafting::papers::{FORM, FREE, FREE_SIGN, form},
    subject::{At, listed},
};

/// Holds a document against those that the runs make, one for each run that `submission` may have taken. People judge one that
/// another hand made, or one of another form: the finding lists the names that are missing from it. Ends of lines may be of any kind.
pub(super) fn compare<'n>(
    at: &mut At,
    place: &str,
    text: &str,
    ours: &Texts,
    names: impl IntoIterator<Item = &'n str>,
) {
    let text = text.replace("\r\n", "\n");
    let why = match form(&text) {
        Some(FORM) if ours.texts.iter().any(|ours| fits(ours, &text)) => return,
        Some(FORM) if ours.are_all && !ours.texts.is_empty() => {
            let differences = ours.texts.iter().map(|ours| difference(ours, &text));
            let least = differences.min_by_key(String::len);
            return at.fail_each_there(place, least);
        }
        Some(FORM) => "cannot be made again of these runs and links".to_owned(),
        Some(other) => format!("was made in form {other}, and this program makes form {FORM}"),
        None => "was not made by loadgen-node submission".to_owned(),
    };
    let text = text.to_lowercase();
    let missing = names.into_iter().filter(|name| !text.contains(&name.to_lowercase()));
    let missing = match missing.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        missing => format!("; missing from its text: {}", listed(missing)),
    };
    let look = "please look at whether it says what the runs say";
    at.unknown_there(place, format!("{why}: {look}{missing}"));
}

/// Returns how a document differs from ours.
fn difference(ours: &str, text: &str) -> String {
    let only_in = |one: &str, other: &str| -> Vec<String> {
        let others: BTreeSet<_> = other.lines().collect();
        let is_said = |line: &&str| !line.trim().is_empty() && !line.contains(FREE_SIGN);
        let lines = one.lines().filter(is_said).filter(|line| !others.contains(line));
        let mut lines: Vec<_> = lines.map(|line| format!("`{}`", line.trim())).collect();
        // Of a drawing, its words come first.
        lines.sort_by_key(|line| !line.contains("</text>"));
        lines
    };
    let missing = only_in(ours, text);
    // A line more may be one of the submitter's.
    let surplus = if ours.contains(FREE) { Vec::new() } else { only_in(text, ours) };
    let mut found = String::from("is not what loadgen-node submission makes of these runs");
    if missing.is_empty() && surplus.is_empty() {
        found += "; lines were added, moved or repeated";
    }
    for (what, lines) in [("missing", missing), ("not of the runs", surplus)] {
        if !lines.is_empty() {
            found += &format!("; {what}: {}", listed(&lines));
        }
    }
    found + "; make the submission again, or remove its line `Made by loadgen-node`"
}

/// Returns true if a document is ours, but for what the submitter has written in place of [`FREE`].
fn fits(ours: &str, text: &str) -> bool {
    let (ours, text) = (ours.trim_end(), text.trim_end());
    let parts: Vec<_> = ours.split(FREE).collect();
    let [first, middle @ .., last] = parts.as_slice() else { return ours == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in middle {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture::submission_tree, input::files::sha256_of, tree::documents};

    #[test]
    fn what_a_submitter_has_written_may_be_anything() {
        let ours = format!("# A\n\n{FREE}\n\n| a |\n\n{FREE}\n");
        for (text, is_ours) in [
            ("# A\n\nyes\n\n| a |\n\nand\n\nno\n", true),
            ("# A\n\nyes\n\n| b |\n\nno\n", false),
            ("# B\n\nyes\n\n| a |\n\nno\n", false),
            ("# A\n\nyes\n\n| a |\n", false),
        ] {
            assert_eq!(fits(&ours, text), is_ours, "{text}");
        }
        let moved = difference("a\nb\n", "b\na\n");
        assert!(moved.contains("; lines were added, moved or repeated; "), "{moved}");
        let other = difference("a\nb\n", "a\nc\n");
        assert!(other.contains("; missing: `b`; not of the runs: `c`; "), "{other}");
    }

    /// SHA-256 of the documents of a submission in this form.
    const OF_FORM: &str = "cd351a172e3bf42d453817291188ed22a3662a78a3e74b6a56b2ce282f133bc0";

    #[test]
    fn documents_that_look_otherwise_have_another_form() {
        let folder = tempfile::tempdir().unwrap();
        let root = submission_tree(folder.path(), "network", "v5.0");
        let names = [
            documents::DIAGRAM,
            documents::DIAGRAM_TEXT,
            documents::ARCHITECTURE,
            documents::BANDWIDTH,
        ];
        let path = |name| root.join("network/acme/documentation").join(name);
        let texts = names.map(|name| std::fs::read_to_string(path(name)).unwrap());
        let here = sha256_of(texts.concat());
        assert_eq!(here, OF_FORM, "raise FORM in drafting/papers.rs, and write this digest");
    }
}
