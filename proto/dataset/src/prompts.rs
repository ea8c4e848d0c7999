//! Conversion of prompts from other programs' files into a file of token ids.

use std::path::Path;

use netdiv_contract::layout::DataType;
use netdiv_node_common::resources::files;
use serde_json::Value;

use crate::{
    error::DatasetError,
    labels::numbers_of_file,
    open::open,
    sample::{Sample, Tensor},
};

/// Rules that separate the prompts of an array from the padding of its rows.
#[derive(Debug, Clone, Default)]
pub struct Rows<'a> {
    /// `.npy` file with the number of tokens of each prompt. The tokens are at the beginning of the
    /// prompt's row, before the padding.
    pub lengths: Option<&'a Path>,
    /// Id that is removed at both ends of a row.
    pub pad: Option<i32>,
}

/// Reads the prompts in a file: a `.npy` array of int32 or int64 with a row for each, `.json` with
/// a list of lists of ids, or `.jsonl`. Each line of `.jsonl` is a list of ids, or an object that
/// has a list under `key`.
pub fn read_prompts(
    path: &Path,
    key: &str,
    rows: &Rows<'_>,
) -> Result<Vec<Vec<i32>>, DatasetError> {
    let bad = |why: String| DatasetError::BadArray { path: path.display().to_string(), why };
    let text = || {
        files::read_short_text(path, u64::MAX)
            .map_err(|error| DatasetError::Unreadable { path: path.into(), error })
    };
    let of_line = |(number, line): (usize, &str)| {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        let ids = if value.is_object() { value.get(key).unwrap_or(&Value::Null) } else { &value };
        ids_of(ids).map_err(|why| format!("line {}: {why}", number + 1))
    };
    let is_array = path.extension().is_some_and(|extension| extension == "npy");
    if !is_array && (rows.lengths.is_some() || rows.pad.is_some()) {
        return Err(bad("its lists have no padding: omit --lengths and --pad".into()));
    }
    let prompts = match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => of_array(path, rows)?,
        Some("jsonl") => {
            let text = text()?;
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            lines.map(of_line).collect::<Result<_, _>>().map_err(bad)?
        }
        Some("json") => {
            let value: Value = serde_json::from_str(&text()?).map_err(|e| bad(e.to_string()))?;
            let list =
                value.as_array().ok_or_else(|| bad("it is not a list of lists of ids".into()))?;
            let prompts = list
                .iter()
                .enumerate()
                .map(|(place, ids)| ids_of(ids).map_err(|why| format!("prompt {place}: {why}")));
            prompts.collect::<Result<_, _>>().map_err(bad)?
        }
        _ => return Err(bad("prompts must be in a .npy, .json or .jsonl file".into())),
    };
    match prompts.iter().position(Vec::is_empty) {
        Some(place) => Err(bad(format!("prompt {place} has no token"))),
        None if prompts.is_empty() => Err(DatasetError::Empty(path.into())),
        None => Ok(prompts),
    }
}

fn ids_of(value: &Value) -> Result<Vec<i32>, String> {
    let list = value.as_array().ok_or("a list of ids is missing")?;
    list.iter()
        .map(|id| id.as_i64().ok_or_else(|| format!("{id} is not a token id")).and_then(id_of))
        .collect()
}

fn id_of(id: i64) -> Result<i32, String> {
    i32::try_from(id)
        .ok()
        .filter(|id| *id >= 0)
        .ok_or_else(|| format!("{id} is not a token id; ids are from 0 to 2^31 - 1"))
}

fn of_array(path: &Path, rows: &Rows<'_>) -> Result<Vec<Vec<i32>>, DatasetError> {
    let bad = |why: String| DatasetError::BadArray { path: path.display().to_string(), why };
    let data = open(&path.display().to_string())?;
    let lengths = rows.lengths.map(numbers_of_file).transpose()?;
    if let Some(lengths) = lengths.as_ref().filter(|lengths| lengths.len() != data.sample_count()) {
        return Err(bad(format!(
            "the number of lengths is {}, that of rows {}",
            lengths.len(),
            data.sample_count()
        )));
    }
    (0..data.sample_count())
        .map(|row| {
            let wrong = |why: String| bad(format!("row {row}: {why}"));
            let Sample::Tensors(tensors) = data.read(row)? else {
                return Err(wrong("it is not an array".into()));
            };
            let [tensor] = &tensors[..] else { return Err(wrong("it is not an array".into())) };
            let mut ids = elements(tensor).map_err(wrong)?;
            if let Some(lengths) = &lengths {
                let length =
                    usize::try_from(lengths[row]).ok().filter(|length| *length <= ids.len());
                let length = length.ok_or_else(|| {
                    wrong(format!("its length is {}; expected at most {}", lengths[row], ids.len()))
                })?;
                ids.truncate(length);
            }
            if let Some(pad) = rows.pad {
                let is_pad = |id: &i64| *id == i64::from(pad);
                let (first, last) = (
                    ids.iter().position(|id| !is_pad(id)).unwrap_or(ids.len()),
                    ids.iter().rposition(|id| !is_pad(id)).map_or(ids.len(), |last| last + 1),
                );
                ids = ids[first..last.max(first)].to_vec();
            }
            ids.into_iter().map(id_of).collect::<Result<_, _>>().map_err(wrong)
        })
        .collect()
}

fn elements(tensor: &Tensor) -> Result<Vec<i64>, String> {
    match (tensor.data_type, tensor.shape.len()) {
        (DataType::Int32, 1) => Ok(tensor
            .data
            .as_chunks()
            .0
            .iter()
            .map(|id| i64::from(i32::from_le_bytes(*id)))
            .collect()),
        (DataType::Int64, 1) => {
            Ok(tensor.data.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id)).collect())
        }
        _ => Err("prompts must be rows of a two-dimensional array of int32 or int64".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy_file::npy;

    fn read(name: &str, content: &[u8], rows: &Rows<'_>) -> Result<Vec<Vec<i32>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        read_prompts(&path, "input_ids", rows).map_err(|error| error.to_string())
    }

    #[test]
    fn every_form_gives_the_same_prompts() {
        let want = Ok(vec![vec![5, 6, 7], vec![8]]);
        let plain = Rows::default();
        assert_eq!(read("a.json", b"[[5, 6, 7], [8]]", &plain), want);
        assert_eq!(
            read("a.jsonl", b"\xef\xbb\xbf[5, 6, 7]\r\r{\"input_ids\": [8]}\r", &plain),
            want
        );
        assert_eq!(read("a.jsonl", b"[5, 6, 7]\n\n{\"input_ids\": [8], \"n\": 1}\n", &plain), want);
        let int32: Vec<u8> =
            [5, 6, 7, 8, 2, 2].iter().flat_map(|n: &i32| n.to_le_bytes()).collect();
        let pad = Rows { pad: Some(2), ..Rows::default() };
        assert_eq!(read("a.npy", &npy("<i4", "(2, 3)", int32), &pad), want);
        let int64: Vec<u8> =
            [5, 6, 7, 8, 0, 0].iter().flat_map(|n: &i64| n.to_le_bytes()).collect();
        let folder = tempfile::tempdir().unwrap();
        let lengths = folder.path().join("lengths.npy");
        let of_lengths: Vec<u8> = [3, 1].iter().flat_map(|n: &i64| n.to_le_bytes()).collect();
        std::fs::write(&lengths, npy("<i8", "(2,)", of_lengths)).unwrap();
        let rows = Rows { lengths: Some(&lengths), ..Rows::default() };
        assert_eq!(read("a.npy", &npy("<i8", "(2, 3)", int64), &rows), want);
        let left: Vec<u8> = [5, 6, 7, 2, 2, 8].iter().flat_map(|n: &i32| n.to_le_bytes()).collect();
        assert_eq!(read("a.npy", &npy("<i4", "(2, 3)", left), &pad), want, "padded on the left");
    }

    #[test]
    fn what_is_no_list_of_prompts_is_an_error_that_names_the_place() {
        let plain = Rows::default();
        for (name, content, words) in [
            ("a.json", &b"{}"[..], "not a list of lists"),
            ("a.json", b"[[1], 2]", "prompt 1: a list of ids is missing"),
            ("a.json", b"[[1], [-1]]", "prompt 1: -1 is not a token id"),
            ("a.json", b"[[1], [2147483648]]", "2147483648 is not a token id"),
            ("a.json", b"[[1.5]]", "1.5 is not a token id"),
            ("a.json", b"[[1], []]", "prompt 1 has no token"),
            ("a.json", b"[]", "contains no sample"),
            ("a.jsonl", b"[1]\n{\"ids\": [1]}", "line 2: a list of ids is missing"),
            ("a.jsonl", b"[1", "line 1: EOF"),
            ("a.txt", b"1", ".npy, .json or .jsonl"),
        ] {
            let error = read(name, content, &plain).unwrap_err();
            assert!(error.contains(words), "{words}: {error}");
        }
        let floats = npy("<f4", "(1, 2)", [0; 8]);
        assert!(
            read("a.npy", &floats, &plain).unwrap_err().contains("row 0: prompts must be rows")
        );
        let zeros = npy("<i4", "(1, 2)", [0; 8]);
        let pad = Rows { pad: Some(0), ..Rows::default() };
        assert!(
            read("a.json", b"[[1, 0]]", &pad).unwrap_err().contains("omit --lengths and --pad")
        );
        assert!(read("a.npy", &zeros, &pad).unwrap_err().contains("prompt 0 has no token"));
    }
}
