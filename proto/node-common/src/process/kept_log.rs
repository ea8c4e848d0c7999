//! Terminal that the log shares: log lines are kept in memory while another writer uses it, and a
//! line of progress may stand below the log.

use std::{
    io::{self, Write},
    os::fd::AsFd as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    process::terminal::{width, without_colours},
    sanitise::sanitise,
};

struct Shared {
    /// Kept lines; `None` if the log is not kept.
    kept: Option<Vec<u8>>,
    /// Line below the log; empty if the log is alone.
    below: String,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { kept: None, below: String::new() });

/// Control sequence that moves to the start of a line and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// Width of a terminal that does not know its own, in columns.
const USUAL_COLUMNS: u16 = 80;

fn shared() -> MutexGuard<'static, Shared> {
    // Even a thread that panicked has written whole lines.
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows a line below the log, cut at the width of the terminal on standard error. Replaces the
/// last such line; an empty text removes it.
pub fn show_below_log(text: &str) {
    let columns = width(io::stderr().as_fd()).unwrap_or(USUAL_COLUMNS);
    let line = cut(&sanitise(text), usize::from(columns).saturating_sub(1));
    let mut shared = shared();
    if shared.below != line {
        shared.below = line;
        if shared.kept.is_none() {
            // If standard error is closed, there is nothing to show.
            let _ = io::stderr().write_all(format!("{CLEAR}{}", shared.below).as_bytes());
        }
    }
}

/// Cuts a text to a number of columns.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.into();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

/// Returns whole lines as they are written above the line `below`, which follows them again.
fn above(below: &str, lines: &[u8]) -> Vec<u8> {
    let clear = if below.is_empty() { "" } else { CLEAR };
    [clear.as_bytes(), lines, below.as_bytes()].concat()
}

/// Keeps log lines in memory until [`release_log`].
pub fn keep_log() {
    shared().kept.get_or_insert_default();
}

/// Returns the last kept lines, at most `lines`, as text without colours.
pub fn last_of_log(lines: usize) -> Vec<String> {
    let shared = shared();
    let all = shared.kept.as_deref().unwrap_or_default();
    let whole = all.strip_suffix(b"\n").unwrap_or(all);
    // Searches from the end: there may be megabytes, and threads that log wait meanwhile.
    let mut last: Vec<_> = whole.rsplit(|byte| *byte == b'\n').take(lines).collect();
    last.reverse();
    let shown = |line: &[u8]| without_colours(&String::from_utf8_lossy(line));
    last.into_iter().filter(|_| !whole.is_empty()).map(shown).collect()
}

/// Writes all kept lines to standard error, and passes on later lines.
pub fn release_log() {
    let mut shared = shared();
    if let Some(lines) = shared.kept.take() {
        // If standard error is closed, there is no other way to report it.
        let _ = io::stderr().write_all(&above(&shared.below, &lines));
    }
}

/// Writer to standard error, or to the kept lines.
pub(crate) struct Sink;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shared = shared();
        if let Some(lines) = &mut shared.kept {
            return lines.write(bytes);
        }
        io::stderr().write_all(&above(&shared.below, bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
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

    #[test]
    fn log_lines_are_written_above_the_line_of_progress() {
        assert_eq!(above("", b"one\n"), b"one\n");
        assert_eq!(above("half done", b"one\ntwo\n"), b"\r\x1b[Kone\ntwo\nhalf done");
    }

    #[test]
    fn a_line_of_progress_never_wraps() {
        for (columns, want) in [(9, "half done"), (8, "half do…"), (1, "…"), (0, "…")] {
            assert_eq!(cut("half done", columns), want);
        }
    }
}
