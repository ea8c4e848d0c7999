//! The ends of LoadGen's logs: a check of them, because LoadGen does not check its writes, and
//! accuracy logs as in submissions, which have both ends and the hash of the complete log.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use super::LogError;
use crate::{
    input::files,
    tree::{ACCURACY_LOG, DETAIL, SUMMARY},
};

/// Number of bytes to read at the end of a log.
const END_BYTES: u64 = 64;

/// Checks that each log of a finished test has the usual end. After a failed write LoadGen appends
/// nothing more to a log, so a log without its end is incomplete.
pub fn check_ends(folder: &Path) -> Result<(), LogError> {
    for (name, ends) in [
        (SUMMARY, &["encountered during test.\n", "encountered. See detailed log.\n"][..]),
        (DETAIL, &["}\n"][..]),
        (ACCURACY_LOG, &["]\n"][..]),
    ] {
        let path = folder.join(name);
        let end = end(&path).map_err(|error| LogError::new(&path, error))?;
        if !ends.iter().any(|whole| end.ends_with(whole.as_bytes())) {
            return Err(LogError::new(&path, CUT));
        }
    }
    Ok(())
}

const CUT: &str = "its end is missing: the system did not store everything that LoadGen wrote. Check the free space of that \
                   file system (`df -h`, `df -i`) and the disk for errors, and run again";

fn end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = files::open(path)?;
    let length = file.metadata()?.len();
    read_part(&mut file, length.saturating_sub(END_BYTES), END_BYTES)
}

/// Reads the bytes of a file from an offset on, at most `length` of them.
fn read_part(file: &mut File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.by_ref().take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

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
        let mut part = |from, length| read_part(&mut file, from, length);
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
    use std::fs;

    use super::*;

    #[test]
    fn a_log_that_is_cut_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name, text: &str| fs::write(folder.path().join(name), text).unwrap();
        for summary in [
            "…\n\nNo warnings encountered during test.\n\nNo errors encountered during test.\n",
            "…\n\n1 warning encountered. See detailed log.\n\n2 ERRORS encountered. See detailed log.\n",
        ] {
            write(SUMMARY, summary);
            write(DETAIL, ":::MLLOG {\"key\": \"a\", \"metadata\": {}}\n");
            write(ACCURACY_LOG, "[\n]\n");
            check_ends(folder.path()).unwrap();
            for (name, cut) in
                [(SUMMARY, "…\n\nNo errors enc"), (DETAIL, ":::MLLOG {\"key\""), (ACCURACY_LOG, "")]
            {
                let whole = fs::read_to_string(folder.path().join(name)).unwrap();
                write(name, cut);
                let error = check_ends(folder.path()).unwrap_err().to_string();
                assert!(error.contains(name) && error.contains("its end is missing"), "{error}");
                write(name, &whole);
            }
        }
        fs::remove_file(folder.path().join(SUMMARY)).unwrap();
        check_ends(folder.path()).unwrap_err();
    }

    #[test]
    fn accuracy_logs_are_truncated_as_the_official_script_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
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
