//! Log lines that wait, while something else has the terminal.

use std::io::{self, Write};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is kept, while the log is.
static KEPT: Mutex<Option<Vec<u8>>> = Mutex::new(None);

fn kept() -> MutexGuard<'static, Option<Vec<u8>>> {
    // A thread that panicked in here has left whole lines.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps log lines, until they are asked for.
pub fn keep_log() {
    kept().get_or_insert_default();
}

/// The last lines that are kept, as text without colours' meaning; at most so many.
pub fn last_of_log(lines: usize) -> Vec<String> {
    let kept = kept();
    let all = kept.as_deref().unwrap_or_default();
    let whole = all.strip_suffix(b"\n").unwrap_or(all);
    // From the end: there may be megabytes, and who logs waits meanwhile.
    let mut last: Vec<_> = whole.rsplit(|byte| *byte == b'\n').take(lines).collect();
    last.reverse();
    let shown = |line: &[u8]| without_colours(&String::from_utf8_lossy(line));
    last.into_iter().filter(|_| !whole.is_empty()).map(shown).collect()
}

/// Writes to standard error what was kept, and every line from then on.
pub fn release_log() {
    let mut kept = kept();
    if let Some(lines) = kept.take() {
        // If it is closed there is nobody to tell.
        let _ = io::stderr().write_all(&lines);
    }
}

/// Standard error, or what is kept.
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
