//! Removes the marks around the figures in a printed Python dictionary.

/// Marks before and after a figure in a printed Python dictionary: NumPy 2 prints the types of its
/// numbers, and the scripts of GPT-J and Llama 3.1 8B print strings.
const AROUND: [(&str, char); 5] = [
    ("np.float64(", ')'),
    ("np.float32(", ')'),
    ("np.int64(", ')'),
    ("np.int32(", ')'),
    ("'", '\''),
];

/// Removes the marks around all figures in a line of a printed dictionary.
pub(super) fn bare(line: &str) -> String {
    let mut parts = line.split("': ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let figure = AROUND.into_iter().find_map(|(before, after)| {
            let rest = part.strip_prefix(before)?;
            let figure = number(rest)?;
            Some((figure, rest[figure.len()..].strip_prefix(after)?))
        });
        let (figure, rest) = figure.unwrap_or(("", part));
        text += &["': ", figure, rest].concat();
    }
    text
}

/// Returns the digits and dots at the start of a text.
fn number(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some(&text[..end]).filter(|number| !number.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_figure_stays_as_it_is() {
        for line in ["{'a': 'b', 'c': '1x', 'd': np.float64(1.5, 'e': '", "accuracy=76.5%", ""] {
            assert_eq!(bare(line), line);
        }
        assert_eq!(bare("{'a': '1.5', 'b': np.int64(7)}"), "{'a': 1.5, 'b': 7}");
    }
}
