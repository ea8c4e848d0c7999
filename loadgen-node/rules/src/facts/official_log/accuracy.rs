//! Reader of `mlperf_log_accuracy.json`, entry by entry: the file of an image benchmark has
//! gigabytes. It accepts any layout of JSON.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use serde::Deserialize as _;
use serde_json::{Map, Value, error::Category};

use super::LogError;
use crate::input::{files, json::UniqueKeyJson};

/// Suffix of errors that a truncated log causes: it is not a JSON list.
const WHOLE: &str = "; LoadGen's whole log is needed, not a truncated one";

pub(crate) struct AccuracyEntry(Map<String, Value>);

impl AccuracyEntry {
    /// Parses a line of a log that has one entry per line, as LoadGen writes it.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        match serde_json::from_str(line.trim_end_matches(',')).ok()? {
            UniqueKeyJson(Value::Object(entry)) => Some(Self(entry)),
            UniqueKeyJson(_) => None,
        }
    }

    pub(crate) fn qsl_idx(&self) -> Result<u64, String> {
        self.integer("qsl_idx")
    }

    /// Returns the value of `key`, a non-negative integer.
    pub(crate) fn integer(&self, key: &str) -> Result<u64, String> {
        let value = self.0.get(key).ok_or_else(|| format!("an entry has no `{key}`"))?;
        value.as_u64().ok_or_else(|| format!("an entry's `{key}` is not a whole number"))
    }

    /// Returns the value of `key` as written: bytes in hex. `None` if the entry has no such key.
    pub(crate) fn hex(&self, key: &str) -> Result<Option<&str>, String> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| format!("an entry's `{key}` is not a text"))
    }

    /// Decodes the value of `key`, which is bytes in hex. `None` if the entry has no such key.
    pub(crate) fn bytes(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(text) = self.hex(key)? else { return Ok(None) };
        hex::decode(text).map(Some).map_err(|_| format!("an entry's `{key}` is not hex"))
    }

    pub(crate) fn response(&self) -> Result<Vec<u8>, String> {
        self.bytes("data")?.ok_or_else(|| "an entry has no `data`".into())
    }
}

/// Calls `each` for each entry. Fails if the file is not a JSON list of objects; a truncated log is
/// not.
pub(crate) fn for_each_entry(
    path: &Path,
    mut each: impl FnMut(AccuracyEntry) -> Result<(), String>,
) -> Result<(), LogError> {
    let mut entries = Entries::open(path)?;
    while let Some(entry) = entries.next_entry()? {
        each(entry).map_err(|why| entries.error(why))?;
    }
    if entries.count == 0 && !entries.is_closed {
        return Err(entries.error(format!("the file is empty{WHOLE}")));
    }
    Ok(())
}

/// A response in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedResponse {
    /// Index of the sample in the data set.
    pub qsl_idx: usize,
    /// Bytes of the response.
    pub data: Vec<u8>,
}

/// Iterates over the responses of an accuracy run, or over the sampled responses of a compliance
/// run. An empty file has no responses: LoadGen leaves it empty in performance mode.
pub fn responses(
    path: &Path,
) -> Result<impl Iterator<Item = Result<LoggedResponse, LogError>> + use<>, LogError> {
    let mut entries = Entries::open(path)?;
    let response = |entry: AccuracyEntry| {
        let qsl_idx = entry.qsl_idx()?;
        let qsl_idx = usize::try_from(qsl_idx).map_err(|error| error.to_string())?;
        Ok(LoggedResponse { qsl_idx, data: entry.response()? })
    };
    Ok(std::iter::from_fn(move || {
        let entry = entries.next_entry().transpose()?;
        let response =
            entry.and_then(|entry| response(entry).map_err(|why: String| entries.error(why)));
        entries.is_closed |= response.is_err();
        Some(response)
    }))
}

/// Reads all responses of a log.
pub fn read_responses(path: &Path) -> Result<Vec<LoggedResponse>, LogError> {
    responses(path)?.collect()
}

/// A partially read JSON list of objects.
struct Entries {
    path: PathBuf,
    file: BufReader<File>,
    count: u64,
    is_closed: bool,
}

impl Entries {
    fn open(path: &Path) -> Result<Self, LogError> {
        let file = files::open(path).map_err(|error| LogError::new(path, error))?;
        let file = BufReader::with_capacity(1 << 20, file);
        Ok(Self { path: path.into(), file, count: 0, is_closed: false })
    }

    fn error(&self, why: String) -> LogError {
        match self.count {
            0 => LogError::new(&self.path, why),
            count => LogError::new(&self.path, format!("entry {count}: {why}")),
        }
    }

    fn next_entry(&mut self) -> Result<Option<AccuracyEntry>, LogError> {
        if self.is_closed {
            return Ok(None);
        }
        let next = self.read_entry();
        self.is_closed |= next.is_err();
        next.map_err(|why| self.error(why))
    }

    fn read_entry(&mut self) -> Result<Option<AccuracyEntry>, String> {
        if self.count == 0 {
            match self.take()? {
                None => return Ok(None),
                Some(b'[') => {}
                Some(_) => return Err(format!("it does not begin with `[`{WHOLE}")),
            }
            if self.peek()? == Some(b']') {
                return self.close();
            }
        } else {
            match self.peek()? {
                Some(b']') => return self.close(),
                Some(b',') => self.file.consume(1),
                _ => return Err(format!("neither `,` nor `]` follows it{WHOLE}")),
            }
            self.peek()?;
        }
        self.count += 1;
        let mut json = serde_json::Deserializer::from_reader(&mut self.file);
        let entry =
            UniqueKeyJson::deserialize(&mut json).map_err(|error| match error.classify() {
                Category::Syntax | Category::Eof => format!("{error}{WHOLE}"),
                Category::Data | Category::Io => error.to_string(),
            })?;
        match entry {
            UniqueKeyJson(Value::Object(entry)) => Ok(Some(AccuracyEntry(entry))),
            UniqueKeyJson(_) => Err("it is not a JSON object".into()),
        }
    }

    fn close(&mut self) -> Result<Option<AccuracyEntry>, String> {
        self.is_closed = true;
        self.file.consume(1);
        match self.peek()? {
            None => Ok(None),
            Some(_) => Err(format!("something follows the list{WHOLE}")),
        }
    }

    /// Consumes and returns the next byte that is not white space.
    fn take(&mut self) -> Result<Option<u8>, String> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.file.consume(1);
        }
        Ok(byte)
    }

    /// Returns the next byte that is not white space, without consuming it; `None` at the end of
    /// the file.
    fn peek(&mut self) -> Result<Option<u8>, String> {
        loop {
            let buffer = self.file.fill_buf().map_err(|error| error.to_string())?;
            let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
            let spaces = buffer.iter().take_while(|byte| is_space(byte)).count();
            if buffer.is_empty() {
                return Ok(None);
            }
            let next = buffer.get(spaces).copied();
            self.file.consume(spaces);
            if next.is_some() {
                return Ok(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<LoggedResponse>, LogError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read_responses(file.path())
    }

    #[test]
    fn responses_are_hex() {
        let want = LoggedResponse { qsl_idx: 3, data: vec![10, 255] };
        let log = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 3, \"data\" : \"0AfF\" }\n]\n";
        assert_eq!(read(log).unwrap(), std::slice::from_ref(&want));
        let two = "[{\"qsl_idx\":3,\"data\":\"0AfF\"} , {\"qsl_idx\":3,\"data\":\"0AfF\"}]";
        assert_eq!(read(two).unwrap(), [want.clone(), want]);
        assert_eq!(read("").unwrap(), []);
        assert_eq!(read("[\n]\n").unwrap(), []);
    }

    #[test]
    fn what_is_no_list_of_responses_is_refused() {
        let entry = "{ \"qsl_idx\" : 3, \"data\" : \"0A\" }";
        for (text, why) in [
            ("[{ \"qsl_idx\" : 3, \"data\" : \"0A0\" }]".to_owned(), "`data` is not hex"),
            (format!("[{entry}"), "entry 1: neither `,` nor `]` follows it"),
            (format!("[{entry} {entry}]"), "neither `,` nor `]`"),
            (format!("[{entry},]"), "entry 2"),
            (format!("[{entry}] {entry}"), "something follows the list"),
            (entry.to_owned(), "does not begin with `[`"),
            ("[{ \"qsl_idx\" : 3, \"da".to_owned(), "not a truncated one"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
