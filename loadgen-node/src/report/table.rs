//! Tables for the terminal: without borders, each column as wide as its contents. On a terminal, a
//! table that is too wide is folded: figures that do not fit continue in another block below,
//! beside the same names, and a long name continues on another line.

use std::{fmt, ops::Range};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use netdiv_node_common::process::fold_tables;

/// Spaces between columns.
const GAP: u16 = 2;

/// Rows under titles. The first `names` columns are aligned to the left; the others hold figures.
#[derive(Debug)]
pub(crate) struct TextTable {
    pub(crate) titles: Vec<String>,
    pub(crate) names: usize,
    pub(crate) rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new<const N: usize>(
        titles: [&str; N],
        names: usize,
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        let titles = titles.map(str::to_owned).into();
        Self { titles, names, rows: rows.into_iter().map(Vec::from).collect() }
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&table_of_rows(self.titles.clone(), self.names, self.rows.iter().cloned()))
    }
}

/// Returns a [`TextTable`] as text.
pub(crate) fn table<const N: usize>(
    titles: [&str; N],
    names: usize,
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    TextTable::new(titles, names, rows).to_string()
}

/// Like [`table`], but with as many columns as there are titles.
pub(crate) fn table_of_rows(
    titles: Vec<String>,
    names: usize,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    table_folded_at(columns(), titles, names, rows)
}

/// Returns facts, each after its label.
pub(crate) fn facts<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut table = borderless_table();
    table.add_rows(rows.into_iter().map(|(label, fact)| [label.to_owned(), fact]));
    fold_tables(&text(table), columns())
}

/// Returns the width at which tables fold; `None` if they do not fold, as in a file. Unit tests
/// never fold, wherever they run.
fn columns() -> Option<u16> {
    if cfg!(test) { None } else { netdiv_node_common::process::columns() }
}

fn table_folded_at(
    columns: Option<u16>,
    titles: Vec<String>,
    names: usize,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    // A title that begins with a line break belongs to the group of the title before it.
    let starts: Vec<_> = titles.iter().map(|title| !title.starts_with('\n')).collect();
    let mut table = borderless_table();
    table.set_header(titles).add_rows(rows);
    table.column_iter_mut().skip(names).for_each(|column| {
        column.set_cell_alignment(CellAlignment::Right);
    });
    let Some(columns) = columns else { return text(table) };
    let widths: Vec<_> = table.column_max_content_widths().iter().map(|one| one + GAP).collect();
    // Figures mean nothing without the first column.
    let names = names.max(1);
    let blocks = blocks(columns, &widths, names, &starts);
    let shown: Vec<_> =
        blocks.iter().map(|block| text(part(&table, names, block, columns))).collect();
    shown.join("\n\n")
}

/// Returns the indexes of the figures' columns in each block. `starts` is true for a column that
/// begins a group. Groups stay together if possible.
fn blocks(columns: u16, widths: &[u16], names: usize, starts: &[bool]) -> Vec<Range<usize>> {
    let named = widths.iter().take(names).fold(0, |sum: u16, width| sum.saturating_add(*width));
    let room = columns - named.min(columns / 2);
    let (mut blocks, mut from) = (Vec::new(), names);
    while from < widths.len() {
        let (mut to, mut used) = (from + 1, widths[from]);
        while to < widths.len() && used.saturating_add(widths[to]) <= room {
            used += widths[to];
            to += 1;
        }
        if to < widths.len() {
            to = (from + 1..=to).rev().find(|column| starts[*column]).unwrap_or(to);
        }
        blocks.push(from..to);
        from = to;
    }
    if blocks.is_empty() {
        blocks.push(names..names);
    }
    blocks
}

/// Returns a table of the names and of the columns `figures` only. Only names are folded.
fn part(table: &Table, names: usize, figures: &Range<usize>, columns: u16) -> Table {
    let mut part = table.clone();
    part.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
    for (number, column) in part.column_iter_mut().enumerate().skip(names) {
        column.set_constraint(match figures.contains(&number) {
            true => ColumnConstraint::ContentWidth,
            false => ColumnConstraint::Hidden,
        });
    }
    part
}

fn borderless_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn text(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((GAP, 0));
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_what_it_holds() {
        let long = "a-host-whose-name-has-very-many-letters.of.a.domain.example.org";
        let rows = [[long.into(), "1".into()], ["b".into(), "20000".into()]];
        let text = table(["\nnode", "answered\nin all"], 1, rows);
        let width = 2 + long.len() + 2 + "answered".len();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], format!("{:>width$}", "answered"));
        assert_eq!(lines[1], format!("  {:<63}    in all", "node"));
        assert_eq!(lines[2], format!("  {long}         1"));
        assert_eq!(lines[3], format!("  {:<63}     20000", "b"));
        assert_eq!(facts([("a", "1".into()), ("long", "2".into())]), "  a     1\n  long  2");
    }

    const TITLES: [&str; 7] = [
        "\nnode",
        "\nanswered",
        "latency, ms\np50",
        "\np99",
        "mean ms in\nQDL",
        "\nnetwork",
        "\nqueue",
    ];

    fn at(columns: u16, name: &str) -> String {
        let row = [name, "2491", "1.25", "3.32", "0.01", "0.14", "0.94"];
        let titles = TITLES.map(str::to_owned).to_vec();
        table_folded_at(Some(columns), titles, 1, [row.map(str::to_owned).to_vec()])
    }

    #[test]
    fn figures_without_room_continue_below_beside_the_same_names() {
        let whole = "                    latency, ms        mean ms in
  node    answered          p50   p99         QDL  network  queue
  node-a      2491         1.25  3.32        0.01     0.14   0.94";
        assert_eq!(at(80, "node-a"), whole);
        assert_eq!(at(65, "node-a"), whole);
        let folded = "                    latency, ms
  node    answered          p50   p99
  node-a      2491         1.25  3.32

          mean ms in
  node           QDL  network  queue
  node-a        0.01     0.14   0.94";
        assert_eq!(at(64, "node-a"), folded);
    }

    #[test]
    fn a_table_fits_into_any_terminal_and_loses_nothing() {
        let name = "a-host-whose-name-has-many-letters.example.org";
        for columns in 40..120 {
            let text = at(columns, name);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns.into()), "{columns}\n{text}");
            for figure in ["2491", "1.25", "3.32", "0.01", "0.14", "0.94"] {
                assert_eq!(text.matches(figure).count(), 1, "{columns}\n{text}");
            }
            let letters: String = text.split_whitespace().collect();
            assert!(letters.contains("a-host"), "{text}");
        }
        // Text columns only.
        let titles = ["differs", "", "values"].map(str::to_owned).to_vec();
        let row = ["batch", "A", "one | another | a third | a fourth | a fifth"];
        let text = table_folded_at(Some(40), titles, 3, [row.map(str::to_owned).to_vec()]);
        assert!(text.lines().count() > 2, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }
}
