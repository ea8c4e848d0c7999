//! Recognizes placeholders for texts that are not written yet.

/// Lines that contain no information, in lower case. Such a line is a placeholder.
const EMPTY: [&str; 9] = ["-", "?", "n/a", "na", "n.a.", "null", "unknown", "...", "to be written"];

/// Words that mark a text as still to be written, in lower case.
const ANNOUNCED: [&str; 4] = ["todo", "tbd", "fixme", "xxx"];

/// Maximum length, in bytes, of a line that is a placeholder if it contains a word of [`ANNOUNCED`]
/// at any position. A longer line is a placeholder only if it begins with such a word.
const SHORT: usize = 40;

/// Returns true if a field or a document is not written yet: it is empty, or its first line is a
/// placeholder such as TODO or N/A. Headings of a document do not count as lines.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return true };
    let Some(line) = std::iter::once(first).chain(lines).find(|line| !line.starts_with('#')) else {
        return true;
    };
    let lower = line.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let announces = |word: &str| ANNOUNCED.contains(&word);
    let first = words.next().unwrap_or_default();
    EMPTY.contains(&lower.trim_end_matches([':', '!']))
        || announces(first)
        || (line.len() <= SHORT && words.any(announces))
}

/// Returns true if a text states that it does not apply, such as `N/A`.
pub(crate) fn is_not_applicable(text: &str) -> bool {
    ["n/a", "na", "n.a.", "-", "--", "none", "not applicable"]
        .contains(&text.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_known() {
        let short = "| |?|-|TODO|N/A|tbd|to do: TODO|unknown|TBD.|xxx|Xxx|TODO: say how";
        for text in short
            .split('|')
            .chain(["# Calibration\n\nTODO: write down how it was done\n", "# Calibration\n"])
        {
            assert!(is_placeholder(text), "{text}");
        }
        let long = "# Calibration\n\nMin and max over 500 images. TODO next year: entropy.\n";
        for text in "1|Ethernet|todos|no switch|100 Gb/s|none".split('|').chain([long]) {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
