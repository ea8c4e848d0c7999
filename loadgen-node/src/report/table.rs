//! Tables for the terminal: without borders, each column as wide as what it holds, never wrapped.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Rows under titles. The first `names` columns are aligned to the left; the others hold figures.
pub(crate) fn table<const N: usize>(
    titles: [&str; N],
    names: usize,
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    wide(titles, names, rows)
}

/// The same with as many columns as there are titles.
pub(crate) fn wide<Row: Into<comfy_table::Row>>(
    titles: impl Into<comfy_table::Row>,
    names: usize,
    rows: impl IntoIterator<Item = Row>,
) -> String {
    let mut table = bare();
    table.set_header(titles).add_rows(rows);
    table.column_iter_mut().skip(names).for_each(|column| {
        column.set_cell_alignment(CellAlignment::Right);
    });
    text(table)
}

/// Facts, each with a label before it.
pub(crate) fn facts<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut table = bare();
    table.add_rows(rows.into_iter().map(|(label, fact)| [label.to_owned(), fact]));
    text(table)
}

fn bare() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn text(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
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
}
