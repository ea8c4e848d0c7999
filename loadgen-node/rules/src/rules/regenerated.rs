//! A document of a submission beside the one that `submission` makes of the same runs.

use crate::{
    subject::{At, listed},
    submission::papers::{FREE, maker},
};

/// Holds a document against those that the runs make, one for each run that `submission` may have taken. People judge one that
/// another hand or another version made: the finding lists the names that are missing from it.
pub(super) fn compare<'n>(
    at: &mut At,
    place: &str,
    text: &str,
    ours: &[&str],
    names: impl IntoIterator<Item = &'n str>,
) {
    let version = env!("CARGO_PKG_VERSION");
    let why = match maker(text) {
        Some(maker) if maker == version => {
            let differences = ours.iter().map(|ours| difference(ours, text));
            match differences.min_by_key(|difference| difference.as_ref().map_or(0, String::len)) {
                Some(difference) => return at.fail_each_there(place, difference),
                None => "cannot be made again of these runs and links".to_owned(),
            }
        }
        Some(maker) => format!("was made by loadgen-node {maker}, and this is {version}"),
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

/// Returns how a document differs from ours, in which [`FREE`] stands for what the submitter has written.
fn difference(ours: &str, text: &str) -> Option<String> {
    if fits(ours, text) {
        return None;
    }
    let only_in = |one: &str, other: &str| -> Vec<String> {
        let is_said = |line: &&str| !line.trim().is_empty() && !line.contains(FREE);
        let lines = one.lines().filter(is_said);
        let mut lines: Vec<_> =
            lines.filter(|line| !other.lines().any(|same| same == *line)).collect();
        // Of a drawing, its words come first.
        lines.sort_by_key(|line| !line.contains("</text>"));
        lines.iter().map(|line| format!("`{}`", line.trim())).collect()
    };
    let missing = only_in(ours, text);
    // A line more may be one of the submitter's.
    let surplus = if ours.contains(FREE) { Vec::new() } else { only_in(text, ours) };
    let mut found = String::from("is not what loadgen-node submission makes of these runs");
    for (what, lines) in [("missing", missing), ("not of the runs", surplus)] {
        if !lines.is_empty() {
            found += &format!("; {what}: {}", listed(&lines));
        }
    }
    Some(found + "; make the submission again, or remove its line `Made by loadgen-node`")
}

/// Returns true if a document is ours, but for what the submitter has written.
fn fits(ours: &str, text: &str) -> bool {
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

    #[test]
    fn what_a_submitter_has_written_may_be_anything() {
        let ours = format!("# A\n\n{FREE}\n\n| a |\n\n{FREE}\n");
        for (text, is_ours) in [
            ("# A\n\nyes\n\n| a |\n\nand\n\nno\n", true),
            ("# A\n\nyes\n\n| b |\n\nno\n", false),
            ("# B\n\nyes\n\n| a |\n\nno\n", false),
            ("# A\n\nyes\n\n| a |\n", false),
        ] {
            assert_eq!(difference(&ours, text).is_none(), is_ours, "{text}");
        }
        let moved = difference("a\nb\n", "b\na\n").unwrap();
        assert!(!moved.contains("missing"), "{moved}");
        let other = difference("a\nb\n", "a\nc\n").unwrap();
        assert!(other.contains("; missing: `b`; not of the runs: `c`; "), "{other}");
    }
}
