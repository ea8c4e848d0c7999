//! Standard error of a script.

use std::io::{self, BufRead as _, BufReader, Read, Write};

/// Lines of a script's standard error that are kept.
#[derive(Debug, Default, PartialEq)]
pub(super) struct StderrLines {
    /// Last line that is not empty: the error that ends a Python program.
    pub(super) last: String,
    /// First line that contains one of the marks, which are texts that the caller looks for. The
    /// line begins with the mark.
    pub(super) marked: Option<String>,
}

/// Maximum number of bytes of a line that are examined.
const LINE: usize = 4096;

/// Copies all bytes from `from` to `to` as they arrive. Returns the last line, and the first line
/// with one of the `marks`.
pub(super) fn copy_stderr(
    from: impl Read,
    mut to: impl Write,
    marks: &[&str],
) -> io::Result<StderrLines> {
    let mut from = BufReader::new(from);
    let (mut kept, mut line) = (StderrLines::default(), Vec::new());
    loop {
        let piece = from.fill_buf()?;
        if piece.is_empty() {
            kept.add(&mut line, marks);
            return Ok(kept);
        }
        // The reader of `to` may be gone.
        let _ = to.write_all(piece);
        for byte in piece {
            match byte {
                // Progress bars end their lines with \r.
                b'\n' | b'\r' => kept.add(&mut line, marks),
                _ if line.len() < LINE => line.push(*byte),
                _ => {}
            }
        }
        let read = piece.len();
        from.consume(read);
    }
}

impl StderrLines {
    /// Adds a complete line and empties the buffer.
    fn add(&mut self, line: &mut Vec<u8>, marks: &[&str]) {
        let text = String::from_utf8_lossy(line).trim().to_owned();
        line.clear();
        if self.marked.is_none() {
            let marked = marks.iter().find_map(|mark| text.find(mark));
            self.marked = marked.map(|at| text[at..].to_owned());
        }
        if !text.is_empty() {
            self.last = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_goes_on_and_what_matters_is_kept() {
        let long = "x".repeat(3 * LINE);
        let text = format!("1/2\r2/2 [E] row 1\n[E] row 2\n{long} [E]\nlast\n\n");
        let mut went_on = Vec::new();
        let kept = copy_stderr(text.as_bytes(), &mut went_on, &["[E]", "other"]).unwrap();
        assert_eq!(went_on, text.as_bytes());
        let marked = Some("[E] row 1".into());
        assert_eq!(kept, StderrLines { last: "last".into(), marked });
        let kept = copy_stderr(&b"no end"[..], io::sink(), &[]).unwrap();
        assert_eq!(kept, StderrLines { last: "no end".into(), marked: None });
    }
}
