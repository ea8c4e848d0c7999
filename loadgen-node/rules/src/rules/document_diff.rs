//! Compares a document of a submission with the one that the command `submission` generates from
//! the same runs.

use std::collections::BTreeSet;

use super::regeneration::AcceptableTexts;
use crate::{
    drafting::machine_documents::{FORM, FREE, FREE_SIGN, form},
    subject::{PlaceJudgement, list_first},
};

/// Compares the document `text` with `ours`: the texts that `submission` can generate from the
/// runs. Line endings are ignored. If another program made the document, or if it has another form
/// ([`FORM`]), a reviewer must judge it: the finding lists the `names` that are missing from it.
pub(super) fn compare<'n>(
    at: &mut PlaceJudgement,
    place: &str,
    text: &str,
    ours: &AcceptableTexts,
    names: impl IntoIterator<Item = &'n str>,
) {
    let text = text.replace("\r\n", "\n");
    let why = match form(&text) {
        Some(FORM) if ours.texts.iter().any(|ours| matches_template(ours, &text)) => return,
        Some(FORM) if ours.are_all && !ours.texts.is_empty() => {
            let differences = ours.texts.iter().map(|ours| difference(ours, &text));
            let least = differences.min_by_key(String::len);
            return at.fail_each_at(place, least);
        }
        Some(FORM) => "cannot be regenerated from these runs and links".to_owned(),
        Some(other) => format!("has form {other}, and this program makes form {FORM}"),
        None => "was not made by loadgen-node submission".to_owned(),
    };
    let text = text.to_lowercase();
    let missing = names.into_iter().filter(|name| !text.contains(&name.to_lowercase()));
    let missing = match missing.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        missing => format!("; missing from its text: {}", list_first(missing)),
    };
    let look = "check by hand that it agrees with the runs";
    at.unknown_at(place, format!("{why}: {look}{missing}"));
}

/// Describes the lines of `ours` that `text` lacks, and the lines that only `text` has.
fn difference(ours: &str, text: &str) -> String {
    let only_in = |one: &str, other: &str| -> Vec<String> {
        let others: BTreeSet<_> = other.lines().collect();
        let is_said = |line: &&str| !line.trim().is_empty() && !line.contains(FREE_SIGN);
        let lines = one.lines().filter(is_said).filter(|line| !others.contains(line));
        let mut lines: Vec<_> = lines.map(|line| format!("`{}`", line.trim())).collect();
        // Lists the texts of a drawing before its shapes.
        lines.sort_by_key(|line| !line.contains("</text>"));
        lines
    };
    let missing = only_in(ours, text);
    // If `ours` has a place for the submitter's text, a surplus line may be part of that text.
    let surplus = if ours.contains(FREE) { Vec::new() } else { only_in(text, ours) };
    let mut found = String::from("differs from what loadgen-node submission makes of these runs");
    if missing.is_empty() && surplus.is_empty() {
        found += "; lines were added, moved or repeated";
    }
    for (what, lines) in [("missing", missing), ("not from the runs", surplus)] {
        if !lines.is_empty() {
            found += &format!("; {what}: {}", list_first(&lines));
        }
    }
    found + "; make the submission again, or remove its line `Made by loadgen-node`"
}

/// Returns true if `text` equals `ours`, with any text in place of [`FREE`].
fn matches_template(ours: &str, text: &str) -> bool {
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
            assert_eq!(matches_template(&ours, text), is_ours, "{text}");
        }
        let moved = difference("a\nb\n", "b\na\n");
        assert!(moved.contains("; lines were added, moved or repeated; "), "{moved}");
        let other = difference("a\nb\n", "a\nc\n");
        assert!(other.contains("; missing: `b`; not from the runs: `c`; "), "{other}");
    }

    /// SHA-256 of the four generated documents of the test submission, in the form [`FORM`].
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
        assert_eq!(
            here, OF_FORM,
            "raise FORM in drafting/machine_documents.rs, and write this digest"
        );
    }
}
