//! The readable entries of an accuracy log: all of a complete log, or those at both ends of a
//! truncated one.

use std::path::Path;

use super::accuracy::AccuracyEntry;
use crate::input::files;

/// Maximum size of a log to read, in bytes: complete logs of images, in run folders, have
/// gigabytes.
const LARGEST: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadableEntry {
    /// Number of the sample in the run.
    pub(crate) seq_id: u64,
    /// Index of the sample in the data set.
    pub(crate) qsl_idx: u64,
    pub(crate) data: Vec<u8>,
    /// Number of tokens in the response, if LoadGen counts them.
    pub(crate) token_count: Option<u64>,
    /// True if the entry has the first tokens of the response, which LoadGen does not log in
    /// Offline.
    pub(crate) has_first_token: bool,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadableLog {
    /// Readable entries, each listed once.
    pub(crate) entries: Vec<ReadableEntry>,
    /// True if these are all entries of the log.
    pub(crate) is_whole: bool,
}

/// Reads a log in LoadGen's layout, with one entry per line. Returns nothing for a log that is too
/// large or not a file.
pub(crate) fn read_entries(path: &Path) -> ReadableLog {
    let length = path.metadata().map_or(u64::MAX, |file| file.len());
    let bytes = if length <= LARGEST { files::read(path).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let is_entry = |line: &&&str| line.starts_with('{');
    let mut entries: Vec<_> =
        lines.iter().filter(is_entry).filter_map(|line| entry(line)).collect();
    let written = lines.iter().filter(is_entry).count();
    let is_whole = entries.len() == written
        && lines.first() == Some(&"[")
        && lines.iter().rfind(|line| !line.is_empty()) == Some(&"]")
        && !lines.contains(&"...");
    // The ends of a short log overlap.
    if !is_whole {
        let mut seen = Vec::new();
        entries.retain(|entry| {
            let is_new = !seen.contains(entry);
            seen.extend(Some(entry.clone()).filter(|_| is_new));
            is_new
        });
    }
    ReadableLog { entries, is_whole }
}

fn entry(line: &str) -> Option<ReadableEntry> {
    let entry = AccuracyEntry::of_line(line)?;
    Some(ReadableEntry {
        seq_id: entry.integer("seq_id").ok()?,
        qsl_idx: entry.qsl_idx().ok()?,
        data: entry.response().ok()?,
        token_count: entry.integer("token_count").ok(),
        has_first_token: entry.hex("token_data") != Ok(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_truncated_log_are_read() {
        let line =
            |seq: u64| format!("{{ \"seq_id\" : {seq}, \"qsl_idx\" : 7, \"data\" : \"0A0B\" }}");
        let read = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            let ReadableLog { entries, is_whole } = read_entries(file.path());
            (entries.iter().map(|entry| entry.seq_id).collect::<Vec<_>>(), is_whole)
        };
        let [one, two, three] = [1, 2, 3].map(line);
        assert_eq!(read(&format!("[\n{one},\n{two}\n]\n")), (vec![1, 2], true));
        let cut = format!("[\n{one},\n{}\n\n...\n\n{},\n{three}\n]\n", &two[..20], &two[20..]);
        assert_eq!(read(&cut), (vec![1, 3], false));
        assert_eq!(read(&format!("[\n{one},\n{two}\n\n...\n\n{two}\n]\n")), (vec![1, 2], false));
        assert_eq!(read(""), (vec![], false));
        assert_eq!(read_entries(Path::new("/no/such/log")), ReadableLog::default());
    }
}
