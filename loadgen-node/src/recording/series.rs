//! `series.csv`: counts of each interval of a run, for all nodes together and for each node.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::Path,
};

use netdiv_node_common::resources::files;
use serde::{Deserialize, Serialize};

/// Name of the file in a run's folder.
pub(crate) const SERIES: &str = "series.csv";

/// Counts of an interval, of one node or of all nodes together. Times are in nanoseconds unless the
/// name states another unit. They are missing if no sample completed in the interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeriesRow {
    /// Beginning of the interval, in seconds from the start of LoadGen's test.
    pub(crate) start_seconds: f64,
    /// End of the interval, in seconds from the start of LoadGen's test.
    pub(crate) end_seconds: f64,
    /// Name of the node; empty for all nodes together.
    pub(crate) node: String,
    /// Samples that LoadGen issued in the interval; for all nodes together only.
    pub(crate) issued: Option<u64>,
    pub(crate) sent: u64,
    pub(crate) completed: u64,
    /// Samples that were issued but not sent at the end of the interval; for all nodes together
    /// only.
    pub(crate) waiting: Option<u64>,
    /// Samples that were sent but not completed at the end of the interval.
    pub(crate) in_flight: u64,
    /// Latency of the completed samples, from `IssueQuery` to completion.
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    pub(crate) max_ns: Option<u64>,
    /// Payload bytes that were sent, as encoded.
    pub(crate) bytes_sent: u64,
    /// Payload bytes of responses, as encoded.
    pub(crate) bytes_received: u64,
    /// Number of first tokens. Like the next three fields, set only if responses consist of tokens.
    pub(crate) first_tokens: Option<u64>,
    /// Time to the first token, from `IssueQuery`.
    pub(crate) first_p50_ns: Option<u64>,
    pub(crate) first_p99_ns: Option<u64>,
    /// Tokens of whole responses.
    pub(crate) tokens: Option<u64>,
}

impl SeriesRow {
    /// Returns the length of the interval in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.end_seconds - self.start_seconds
    }
}

/// Writer of `series.csv`. Writes interval by interval, so that an interrupted run leaves its rows.
pub(crate) struct Writer(csv::Writer<BufWriter<File>>);

impl Writer {
    /// Creates the file in a run's folder, in place of an existing file.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let file = File::create(folder.join(SERIES))?;
        Ok(Self(csv::Writer::from_writer(BufWriter::new(file))))
    }

    pub(crate) fn add(&mut self, rows: &[SeriesRow]) -> io::Result<()> {
        rows.iter().try_for_each(|row| self.0.serialize(row)).map_err(io::Error::from)?;
        self.0.flush()
    }
}

/// Returns rows as the text of a file. `None` without rows.
pub(crate) fn csv(rows: &[SeriesRow]) -> Option<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| table.serialize(row)).ok()?;
    String::from_utf8(table.into_inner().ok()?).ok().filter(|text| !text.is_empty())
}

/// Reads the rows in a run's folder. Empty if the run has no such file.
pub(crate) fn read(folder: &Path) -> Result<Vec<SeriesRow>, String> {
    let path = folder.join(SERIES);
    let text = match files::read(&path, u64::MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    // The last line of an interrupted run may be truncated.
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut rows = Vec::<SeriesRow>::new();
    for (number, row) in csv::Reader::from_reader(&text[..whole]).into_deserialize().enumerate() {
        let wrong = |why: &dyn std::fmt::Display| {
            format!("{}: row {} is invalid: {why}", path.display(), number + 1)
        };
        let row: SeriesRow = row.map_err(|error| wrong(&error))?;
        let earlier = rows.last().map_or(0.0, |last| last.start_seconds);
        if !(row.start_seconds >= earlier && row.seconds() > 0.0 && row.end_seconds.is_finite()) {
            return Err(wrong(&"its times are not an interval after the previous row"));
        }
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), Ok(vec![]));
        let row = |start_seconds, node: &str, issued| SeriesRow {
            start_seconds,
            end_seconds: start_seconds + 1.0,
            node: node.into(),
            issued,
            max_ns: Some(7),
            ..SeriesRow::default()
        };
        let rows = [row(0.0, "", Some(3)), row(0.0, "a, \"b\"\n", None), row(1.0, "", Some(0))];
        let mut writer = Writer::create(folder.path()).unwrap();
        writer.add(&rows[..2]).unwrap();
        writer.add(&rows[2..]).unwrap();
        assert_eq!(read(folder.path()).as_deref(), Ok(&rows[..]));
        // Truncated in its last line, the file still has the other rows.
        let path = folder.path().join(SERIES);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 1]).unwrap();
        assert_eq!(read(folder.path()).as_deref(), Ok(&rows[..2]));
    }

    #[test]
    fn what_is_no_series_is_refused_with_its_row() {
        let folder = tempfile::tempdir().unwrap();
        let row = SeriesRow { end_seconds: 1.0, ..SeriesRow::default() };
        Writer::create(folder.path()).unwrap().add(&[row.clone(), row]).unwrap();
        let path = folder.path().join(SERIES);
        let text = fs::read_to_string(&path).unwrap();
        for (from, to, why) in [
            ("0.0,1.0", "0.0,-1.0", "row 1"),
            ("0.0,1.0", "0.0,NaN", "not an interval"),
            ("0.0,1.0", "0.0,inf", "not an interval"),
            ("0.0,1.0", "5.0,6.0", "row 2"),
            ("0.0,1.0", "x,1.0", "row 1"),
            ("start_seconds", "begin", "row 1"),
        ] {
            assert!(text.contains(from), "{text}");
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
            let refused = read(folder.path()).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
