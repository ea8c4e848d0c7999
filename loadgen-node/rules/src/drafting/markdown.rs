//! Markdown of netdiv's documents: tables and code blocks.

/// Formats a table. A cell may contain any text.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let cell = |text: String| text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', "<br>");
    let mut text = line(&head.map(str::to_owned));
    text += &line(&head.map(|_| "---".to_owned()));
    for row in rows {
        text += &line(&row.map(cell));
    }
    text
}

/// Replaces line breaks and repeated white space by single spaces.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn block(language: &str, text: &str) -> String {
    // The fence must be longer than any in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

pub(crate) const UNKNOWN: &str = "not known";

/// Returns the text of a known value, or [`UNKNOWN`].
pub(crate) fn known<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| UNKNOWN.into(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_blocks_hold_any_text() {
        let table = table(["a", "b"], [["1|2".into(), "x\ny".into()]]);
        assert_eq!(table, "| a | b |\n| --- | --- |\n| 1\\|2 | x<br>y |\n");
        assert_eq!(block("toml", "a\n"), "```toml\na\n```\n");
        assert_eq!(block("", "````"), "`````\n````\n`````\n");
    }
}
