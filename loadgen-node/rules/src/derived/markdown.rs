//! Markdown of netdiv's documents: tables and code blocks.

use std::mem;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

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

/// A row of a table in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableRow {
    /// Header row of the table.
    pub(crate) head: Vec<String>,
    pub(crate) cells: Vec<String>,
}

/// Returns the rows of all tables in a document.
pub(crate) fn rows(text: &str) -> Vec<TableRow> {
    let (mut rows, mut head, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::TableCell) => cells.push(cell(&text[range])),
            Event::End(TagEnd::TableHead) => head = mem::take(&mut cells),
            Event::End(TagEnd::TableRow) => {
                rows.push(TableRow { head: head.clone(), cells: mem::take(&mut cells) });
            }
            _ => {}
        }
    }
    rows
}

/// Returns the original text of a cell that [`table`] wrote, on one line.
fn cell(written: &str) -> String {
    let mut text = String::new();
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    on_one_line(&text)
}

/// Replaces line breaks and repeated white space by single spaces.
pub(crate) fn on_one_line(text: &str) -> String {
    text.replace("<br>", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats a code block.
pub(crate) fn block(language: &str, text: &str) -> String {
    // The fence must be longer than any in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// Text for an unknown value.
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
        let [head, cells] =
            [["a", "b"], ["1|2", "x y"]].map(|cells| cells.map(String::from).to_vec());
        assert_eq!(rows(&table), [TableRow { head, cells }]);
        assert_eq!(block("toml", "a\n"), "```toml\na\n```\n");
        assert_eq!(block("", "````"), "`````\n````\n`````\n");
    }
}
