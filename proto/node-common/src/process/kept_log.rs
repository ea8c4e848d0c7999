//! Log lines kept in memory while another writer uses the terminal.

use std::io::{self, Write};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kept lines; `None` if the log is not kept.
static KEPT: Mutex<Option<Vec<u8>>> = Mutex::new(None);

fn kept() -> MutexGuard<'static, Option<Vec<u8>>> {
    // Even a thread that panicked has written whole lines.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps log lines in memory until [`release_log`].
pub fn keep_log() {
    kept().get_or_insert_default();
}

/// Returns the last kept lines, at most `lines`, as text without colours.
pub fn last_of_log(lines: usize) -> Vec<String> {
    let kept = kept();
    let all = kept.as_deref().unwrap_or_default();
    let whole = all.strip_suffix(b"\n").unwrap_or(all);
    // Searches from the end: there may be megabytes, and threads that log wait meanwhile.
    let mut last: Vec<_> = whole.rsplit(|byte| *byte == b'\n').take(lines).collect();
    last.reverse();
    let shown = |line: &[u8]| without_colours(&String::from_utf8_lossy(line));
    last.into_iter().filter(|_| !whole.is_empty()).map(shown).collect()
}

/// Writes all kept lines to standard error, and passes on later lines.
pub fn release_log() {
    let mut kept = kept();
    if let Some(lines) = kept.take() {
        // If standard error is closed, there is no other way to report it.
        let _ = io::stderr().write_all(&lines);
    }
}

/// Writer to standard error, or to the kept lines.
pub(crate) struct Sink;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match kept().as_mut() {
            Some(lines) => lines.write(bytes),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn without_colours(line: &str) -> String {
    let mut pieces = line.split("\u{1b}[");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wait_until_they_are_released() {
        keep_log();
        Sink.write_all(b"one\n\x1b[32m INFO\x1b[0m two\nthree\n").unwrap();
        assert_eq!(last_of_log(2), [" INFO two", "three"]);
        assert_eq!(last_of_log(9).len(), 3);
        release_log();
        assert_eq!(last_of_log(9), Vec::<String>::new());
        Sink.write_all(b"four\n").unwrap();
        assert_eq!(last_of_log(9), Vec::<String>::new());
    }
}
