//! An accuracy log as submissions have it: its two ends, and the hash of the whole.

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use netdiv_proto::digest::in_hex;
use sha2::{Digest as _, Sha256};

/// What is kept at either end, in bytes.
const VIEWABLE: u64 = 4096;

/// An accuracy log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccuracyLog {
    /// SHA-256 of the whole file, in hex.
    pub(super) sha256: String,
    /// Its beginning and its end.
    pub(super) truncated: Vec<u8>,
}

impl AccuracyLog {
    /// Reads a log of any length. As the official script does, it keeps the first and the last 4096 bytes of a log that
    /// has so many.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut file = fs::File::open(path)?;
        let mut hash = Sha256::new();
        let length = io::copy(&mut file, &mut hash)?;
        let sha256 = in_hex(&hash.finalize());
        let mut part = |from: u64, length: u64| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.by_ref().take(length).read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        let truncated = match length < VIEWABLE {
            true => part(0, length)?,
            false => {
                let (start, end) = (part(0, VIEWABLE)?, part(length - VIEWABLE, VIEWABLE)?);
                [&start, &b"\n\n...\n\n"[..], &end].concat()
            }
        };
        Ok(Self { sha256, truncated })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_logs_are_truncated_as_the_official_script_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            AccuracyLog::read(&path).unwrap()
        };
        let short = log(b"[\n]\n");
        assert_eq!(short.truncated, b"[\n]\n");
        assert_eq!(short.sha256, in_hex(&Sha256::digest(b"[\n]\n")));
        assert_eq!(log(&[b'x'; 4095]).truncated.len(), 4095);
        // Ends that overlap are both kept, as there.
        assert_eq!(log(&[b'x'; 5000]).truncated.len(), 2 * 4096 + 7);
        let text: Vec<u8> = (0..100_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
        let long = log(&text).truncated;
        assert_eq!(long[..4096], text[..4096]);
        assert_eq!(&long[4096..4103], b"\n\n...\n\n");
        assert_eq!(long[4103..], text[100_000 - 4096..]);
    }
}
