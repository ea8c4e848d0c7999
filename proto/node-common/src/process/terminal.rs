//! Terminal on standard output, and tables that fit its width.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// Minimum width of tables, in columns. A narrower table is not readable in any form, so narrower
/// terminals get this width.
const MIN_COLUMNS: u16 = 40;

/// Minimum indentation of a line without another cell that continues a last cell, in columns.
const INDENTED: usize = 8;

/// Returns a text without its control sequences for colours.
pub(crate) fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

/// Returns the number of columns of the terminal on standard output, or `None` for a file or a
/// pipe.
pub fn columns() -> Option<u16> {
    columns_of(io::stdout().as_fd())
}

fn columns_of(output: BorrowedFd<'_>) -> Option<u16> {
    width(output).map(|columns| columns.max(MIN_COLUMNS))
}

/// Returns the number of columns of a terminal, as it is, or `None` if it is unknown.
pub(crate) fn width(output: BorrowedFd<'_>) -> Option<u16> {
    // Only terminals have a size, and some of them do not know it.
    let size = rustix::termios::tcgetwinsize(output).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// Folds the rows of tables in a text: the last cell of a row continues on further lines, aligned
/// with itself. Two or more spaces separate cells. Sentences, and words without a space, are not
/// folded. Colours take no room.
pub fn fold_tables(text: &str, columns: Option<u16>) -> String {
    let Some(columns) = columns.map(usize::from) else { return text.into() };
    text.split('\n').map(|line| folded_row(line, columns)).collect::<Vec<_>>().join("\n")
}

fn folded_row(row: &str, columns: usize) -> String {
    let width = |text: &str| without_colours(text).chars().count();
    let last = row.trim_end().rfind("  ").map_or(0, |gap| gap + 2);
    let (before, cell) = row.split_at(last);
    let room = columns.saturating_sub(width(before));
    let is_sentence = before.trim().is_empty() && width(before) < INDENTED;
    if width(row) <= columns || is_sentence || width(before) > columns / 2 {
        return row.into();
    }
    let (mut folded, mut used) = (before.to_owned(), 0);
    for word in cell.split(' ') {
        if used > 0 && used + 1 + width(word) > room {
            folded.push('\n');
            folded.extend(std::iter::repeat_n(' ', width(before)));
            used = 0;
        } else if used > 0 {
            folded.push(' ');
            used += 1;
        }
        folded.push_str(word);
        used += width(word);
    }
    folded
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::termios::{Winsize, tcsetwinsize};

    use super::*;

    #[test]
    fn a_terminal_has_columns_and_a_file_has_none() {
        let terminal = File::options().read(true).write(true).open("/dev/ptmx").unwrap();
        for (given, want) in [(0, None), (7, Some(MIN_COLUMNS)), (110, Some(110))] {
            let size = Winsize { ws_row: 24, ws_col: given, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&terminal, size).unwrap();
            assert_eq!(columns_of(terminal.as_fd()), want);
        }
        assert_eq!(columns_of(File::open("/dev/null").unwrap().as_fd()), None);
    }

    #[test]
    fn the_last_cell_of_a_row_continues_under_itself() {
        let text = "digits server: a sentence, whose line the terminal may break where it likes to\n  \
                    samples  10 issued, 10 completed, 0 lost, µs and more\n  \
                    path     /a/path/without/a/space/in/it/that/is/long\n  short    1";
        let want = "digits server: a sentence, whose line the terminal may break where it likes to\n  \
                    samples  10 issued, 10 completed, 0\n           lost, µs and more\n  \
                    path     /a/path/without/a/space/in/it/that/is/long\n  short    1";
        assert_eq!(fold_tables(text, Some(40)), want);
        let continued = format!("{:19}a further line of the last cell", "");
        let want = format!("{:19}a further line of the\n{:19}last cell", "", "");
        assert_eq!(fold_tables(&continued, Some(42)), want);
        assert_eq!(fold_tables(text, None), text);
        let [option, colour] = ["      \u{1b}[1m--rate\u{1b}[0m <RATE>  ", "\u{1b}[1m"];
        let folded = fold_tables(&format!("{option}Rate in samples of a {colour}second"), Some(44));
        assert_eq!(folded, format!("{option}Rate in samples of a\n{:21}{colour}second", ""));
        assert_eq!(fold_tables(text, Some(200)), text);
        // Narrow columns lose no words.
        for columns in 0..60 {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&fold_tables(text, Some(columns))), words(text));
        }
    }
}
