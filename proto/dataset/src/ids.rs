//! File of token ids of prompts.
//!
//! All numbers are little-endian:
//!
//! ```text
//! 8 bytes   NDIDS001
//! u64       number of prompts, N
//! u64       N + 1 offsets, in ids: prompt i is the ids from offset i to offset i + 1; the first is 0, none is less than
//!           the one before, and the last is the number of ids
//! int32     the ids, each 0 or more
//! ```
//!
//! A sample is one prompt: a tensor `input_ids`, int32, of one dimension, without padding.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use netdiv_contract::{
    layout::{DataType, InputLayout, TensorSpec},
    tokens::{self, ID_BYTES},
};

use crate::{
    error::DatasetError,
    sample::{Dataset, Sample, Tensor},
    sample_file::SampleFile,
};

/// First bytes of a file of token ids.
pub(super) const MAGIC: &[u8; 8] = b"NDIDS001";

const OFFSET_BYTES: u64 = 8;

/// Data set of prompts.
pub(super) struct Ids {
    path: PathBuf,
    file: SampleFile,
    /// Positions in the file, in bytes: the beginning of each prompt, then the end of the last
    /// prompt.
    offsets: Vec<u64>,
}

pub(super) fn layout() -> InputLayout {
    let (name, data_type) = ("input_ids".into(), DataType::Int32 as i32);
    InputLayout { tensors: vec![TensorSpec { name, data_type, shape: vec![-1] }] }
}

/// Creates a prompt from the bytes of its ids.
pub(super) fn prompt(data: Bytes) -> Sample {
    let shape = vec![data.len() / ID_BYTES];
    Sample::Tensors(vec![Tensor { data_type: DataType::Int32, shape, data }])
}

impl Ids {
    /// Returns true if the file begins with [`MAGIC`].
    pub(super) fn is(file: &SampleFile) -> bool {
        file.bytes() >= MAGIC.len() as u64 && file.read(0, 8).is_ok_and(|start| start == MAGIC[..])
    }

    pub(super) fn open(path: &Path, file: SampleFile) -> Result<Self, DatasetError> {
        let bad = |why: String| DatasetError::BadArray { path: path.display().to_string(), why };
        let damaged = |why: &str| bad(format!("damaged data set of ids: {why}"));
        let table = 2 * OFFSET_BYTES;
        if file.bytes() < table {
            return Err(damaged("it ends before the number of prompts"));
        }
        let number = |bytes: &[u8]| {
            bytes.as_chunks().0.iter().map(|n| u64::from_le_bytes(*n)).collect::<Vec<_>>()
        };
        let count = number(&file.read(OFFSET_BYTES, OFFSET_BYTES)?)[0];
        let offsets_bytes = count.checked_add(1).and_then(|n| n.checked_mul(OFFSET_BYTES));
        let ids_at = offsets_bytes.and_then(|bytes| bytes.checked_add(table));
        let Some(ids_at) = ids_at.filter(|at| *at <= file.bytes()) else {
            return Err(damaged(&format!("it is too short for the offsets of {count} prompts")));
        };
        if count == 0 {
            return Err(DatasetError::Empty(path.into()));
        }
        let mut offsets = number(&file.read(table, ids_at - table)?);
        let ids_bytes = file.bytes() - ids_at;
        if offsets[0] != 0
            || offsets.last().and_then(|last| last.checked_mul(ID_BYTES as u64)) != Some(ids_bytes)
        {
            return Err(damaged(&format!(
                "its offsets go from {} to {:?}, and {ids_bytes} bytes of ids follow",
                offsets[0],
                offsets.last()
            )));
        }
        if let Some(wrong) = offsets.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(damaged(&format!("prompt {wrong} has no token")));
        }
        offsets.iter_mut().for_each(|place| *place = ids_at + *place * ID_BYTES as u64);
        Ok(Self { path: path.into(), file, offsets })
    }
}

impl Ids {
    /// Returns the ids of a prompt, as bytes.
    pub(super) fn ids(&self, index: usize) -> Result<Bytes, DatasetError> {
        let ids = self.file.read(self.offsets[index], self.sample_bytes(index))?;
        let wrong = tokens::ids(&ids).find(|id| *id < 0);
        match wrong {
            Some(id) => Err(DatasetError::BadArray {
                path: self.path.display().to_string(),
                why: format!("damaged data set of ids: prompt {index} has the id {id}"),
            }),
            None => Ok(ids),
        }
    }
}

impl Dataset for Ids {
    fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    fn sample_count(&self) -> usize {
        self.offsets.len() - 1
    }

    fn layout(&self) -> Option<InputLayout> {
        Some(layout())
    }

    fn sample_bytes(&self, index: usize) -> u64 {
        match self.offsets.get(index..index + 2) {
            Some([start, end]) => end - start,
            _ => 0,
        }
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        self.ids(index).map(prompt)
    }
}

/// Writes prompts as a file of token ids. Each prompt has at least one id.
pub fn write_ids(to: &mut impl Write, prompts: &[Vec<i32>]) -> io::Result<()> {
    to.write_all(MAGIC)?;
    to.write_all(&(prompts.len() as u64).to_le_bytes())?;
    let mut offset = 0_u64;
    to.write_all(&offset.to_le_bytes())?;
    for prompt in prompts {
        offset += prompt.len() as u64;
        to.write_all(&offset.to_le_bytes())?;
    }
    for id in prompts.iter().flatten() {
        to.write_all(&id.to_le_bytes())?;
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prompts.ids");
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn written(prompts: &[Vec<i32>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_ids(&mut bytes, prompts).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let prompts = [vec![1, 2, 3], vec![7], vec![i32::MAX, 0]];
        let (_folder, path) = file(&written(&prompts));
        let data = crate::open(&path.display().to_string()).unwrap();
        assert_eq!((data.name().as_str(), data.sample_count()), ("prompts.ids", 3));
        for (index, prompt) in prompts.iter().enumerate() {
            assert_eq!(data.sample_bytes(index), 4 * prompt.len() as u64);
            let Sample::Tensors(tensors) = data.read(index).unwrap() else { panic!("bytes") };
            let ids: Vec<_> = netdiv_contract::tokens::ids(&tensors[0].data).collect();
            assert_eq!((&ids, &tensors[0].shape), (prompt, &vec![prompt.len()]));
        }
    }

    #[test]
    fn a_prompt_with_an_id_below_0_is_refused_when_it_is_read() {
        let (_folder, path) = file(&written(&[vec![1], vec![2, -7]]));
        let data = crate::open(&path.display().to_string()).unwrap();
        data.read(0).unwrap();
        assert!(data.read(1).unwrap_err().to_string().contains("prompt 1 has the id -7"));
    }

    #[test]
    fn damaged_files_are_refused() {
        let whole = written(&[vec![1, 2], vec![3]]);
        let edited = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            bytes
        };
        for (bytes, words) in [
            (whole[..12].to_vec(), "ends before the number"),
            (whole[..30].to_vec(), "too short for the offsets of 2"),
            (whole[..whole.len() - 1].to_vec(), "11 bytes of ids follow"),
            (edited(8, 0), "contains no sample"),
            (edited(15, 0xff), "too short for the offsets"),
            (edited(16, 1), "offsets go from 1"),
            (edited(24, 0), "prompt 0 has no token"),
            (edited(24, 3), "prompt 1 has no token"),
            (edited(24, 9), "prompt 1 has no token"),
        ] {
            let (_folder, path) = file(&bytes);
            let error = crate::open(&path.display().to_string()).err().unwrap().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
