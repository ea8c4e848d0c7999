//! Accuracy logs as in submissions: both ends, and the hash of the complete log.

use std::{
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use crate::input::files;

/// Size of the part that is kept at each end, in bytes.
const VIEWABLE: u64 = 4096;

/// Text between the two ends.
const GAP: &[u8] = b"\n\n...\n\n";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TruncatedLog {
    /// SHA-256 of the complete file, in hex.
    pub(crate) sha256: String,
    /// Start and end of the log.
    pub(crate) truncated: Vec<u8>,
}

impl TruncatedLog {
    /// Reads a log of any length. Like the official script, it keeps the first and the last 4096
    /// bytes of a log that has at least 4096 bytes.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let sha256 = files::sha256(path)?;
        let mut file = files::open(path)?;
        let length = file.metadata()?.len();
        let mut part = |from: u64, length: u64| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.by_ref().take(length).read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        let truncated = if length < VIEWABLE {
            part(0, length)?
        } else {
            let (start, end) = (part(0, VIEWABLE)?, part(length - VIEWABLE, VIEWABLE)?);
            [&start, GAP, &end].concat()
        };
        Ok(Self { sha256, truncated })
    }
}

/// Gap that the script writes on Windows.
const GAP_OF_WINDOWS: &[u8] = b"\r\n\r\n...\r\n\r\n";

pub(crate) fn is_truncated(log: &[u8]) -> bool {
    [GAP, GAP_OF_WINDOWS].into_iter().any(|gap| log.windows(gap.len()).any(|part| part == gap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_logs_are_truncated_as_the_official_script_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            TruncatedLog::read(&path).unwrap()
        };
        let short = log(b"[\n]\n");
        assert_eq!(short.truncated, b"[\n]\n");
        assert_eq!(short.sha256, files::sha256_of(b"[\n]\n"));
        assert_eq!(log(&[b'x'; 4095]).truncated.len(), 4095);
        // Overlapping ends are both kept, like in the official script.
        assert_eq!(log(&[b'x'; 5000]).truncated.len(), 2 * 4096 + 7);
        let text: Vec<u8> = (0..100_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
        let long = log(&text).truncated;
        assert_eq!(long[..4096], text[..4096]);
        assert_eq!(&long[4096..4103], GAP);
        assert_eq!(long[4103..], text[100_000 - 4096..]);
        assert!(is_truncated(&long) && !is_truncated(&text));
    }
}
