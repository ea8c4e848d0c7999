//! `mlperf_log_accuracy.json`, entry by entry: that of an image benchmark has gigabytes. Any layout of JSON will do.

use std::{io::BufReader, path::Path};

use serde::de::{self, DeserializeSeed as _};
use serde_json::{Map, Value, error::Category};

use super::ComplianceError;
use crate::{official_log::unhex, regular};

/// One entry of the log.
pub(super) struct Entry(Map<String, Value>);

impl Entry {
    /// The sample's place in the data set.
    pub(super) fn qsl_idx(&self) -> Result<u64, String> {
        self.integer("qsl_idx")
    }

    /// A number that is not negative.
    pub(super) fn integer(&self, key: &str) -> Result<u64, String> {
        let value = self.0.get(key).ok_or_else(|| format!("an entry has no `{key}`"))?;
        value.as_u64().ok_or_else(|| format!("an entry's `{key}` is no whole number"))
    }

    /// Bytes that are written in hex, as written; none where the entry has no such key.
    pub(super) fn hex(&self, key: &str) -> Result<Option<&str>, String> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| format!("an entry's `{key}` is no text"))
    }

    /// Those bytes.
    pub(super) fn bytes(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(text) = self.hex(key)? else { return Ok(None) };
        unhex(text).map(Some).ok_or_else(|| format!("an entry's `{key}` is not hex"))
    }

    /// The response.
    pub(super) fn response(&self) -> Result<Vec<u8>, String> {
        self.bytes("data")?.ok_or_else(|| "an entry has no `data`".into())
    }
}

/// Calls `each` with each entry. Fails at once where the file is no JSON list of objects, which a truncated log is not.
pub(super) fn for_each_entry(
    path: &Path,
    each: impl FnMut(Entry) -> Result<(), String>,
) -> Result<(), ComplianceError> {
    let file = regular::open(path).map_err(|error| ComplianceError::new(path, error))?;
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 20, file));
    Entries(each).deserialize(&mut json).and_then(|()| json.end()).map_err(|error| {
        let advice = match error.classify() {
            Category::Syntax | Category::Eof => {
                "; LoadGen's whole log is needed, not a truncated one"
            }
            Category::Data | Category::Io => "",
        };
        ComplianceError::new(path, format!("{error}{advice}"))
    })
}

struct Entries<F>(F);

impl<'de, F: FnMut(Entry) -> Result<(), String>> de::DeserializeSeed<'de> for Entries<F> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Entry) -> Result<(), String>> de::Visitor<'de> for Entries<F> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of responses")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element()? {
            (self.0)(Entry(entry)).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}
