//! Markdown, as far as our documents need it.

/// A table; a cell may hold any text.
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

/// A block of text that stays as it is.
pub(crate) fn block(language: &str, text: &str) -> String {
    // A fence is longer than any that the text has.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// What is known, or `not known`.
pub(crate) fn known<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "not known".into(), ToString::to_string)
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
