//! Array in NumPy's `.npy` format. The first dimension is the number of samples.

use std::path::Path;

use bytes::Bytes;
use netdiv_contract::layout::{self, DataType, InputLayout, TensorSpec};
use netdiv_node_common::resources::memory;

use crate::{
    error::DatasetError,
    npy_header::{Header, PREFIX_BYTES},
    sample::{Dataset, Sample, Tensor},
    sample_file::SampleFile,
};

/// Type, shape and position of an array's elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrayHeader {
    pub(super) data_type: DataType,
    pub(super) shape: Vec<usize>,
    /// Position of the first element, in bytes.
    data_at: usize,
    /// Length of all elements, in bytes.
    pub(super) data_bytes: u64,
}

impl ArrayHeader {
    /// Reads the header of a file.
    pub(super) fn of_file(path: &Path, file: &SampleFile) -> Result<Self, DatasetError> {
        let bad = |why: String| DatasetError::BadArray { path: path.display().to_string(), why };
        let prefix = file.read(0, file.bytes().min(PREFIX_BYTES as u64))?;
        let Header { descr, fortran_order, shape, data_at } =
            Header::read(&prefix).map_err(|why| bad(format!("not a .npy file: {why}")))?;
        if fortran_order {
            return Err(bad(
                "the array is in Fortran order; save numpy.ascontiguousarray(a)".into()
            ));
        }
        let data_type = data_type(&descr).ok_or_else(|| {
            bad(format!(
                "elements of type '{descr}' are not supported; use uint8, int8, int16, int32, int64, float16 \
                 or float32, little-endian"
            ))
        })?;
        let want = shape
            .iter()
            .try_fold(layout::element_bytes(data_type), |product, n| product.checked_mul(*n))
            .ok_or_else(|| bad("the shape overflows".into()))? as u64;
        let got = file.bytes().saturating_sub(data_at as u64);
        if got != want {
            return Err(bad(format!(
                "the header announces {want} bytes of data, the file has {got}; it is truncated or damaged"
            )));
        }
        Ok(Self { data_type, shape, data_at, data_bytes: want })
    }
}

fn data_type(descr: &str) -> Option<DataType> {
    Some(match descr {
        "|u1" => DataType::Uint8,
        "|i1" => DataType::Int8,
        "<i2" => DataType::Int16,
        "<i4" => DataType::Int32,
        "<i8" => DataType::Int64,
        "<f2" => DataType::Float16,
        "<f4" => DataType::Float32,
        _ => return None,
    })
}

/// Reads the elements of a one-dimensional array of integers. Errors name the file as `path`.
pub fn labels(path: &str, file: Bytes) -> Result<Vec<i64>, DatasetError> {
    let bad = |why: String| DatasetError::BadArray { path: path.into(), why };
    let file = SampleFile::in_memory(path, file);
    let form = ArrayHeader::of_file(Path::new(path), &file)?;
    // A label of one byte needs eight in memory.
    let count = form.shape.first().copied().unwrap_or(0) as u64;
    memory::check(count.saturating_mul(size_of::<i64>() as u64))
        .map_err(|error| bad(error.to_string()))?;
    let data = file.read(form.data_at as u64, form.data_bytes)?;
    match (form.shape.len(), form.data_type) {
        (1, DataType::Uint8) => Ok(data.iter().map(|label| i64::from(*label)).collect()),
        (1, DataType::Int32) => {
            Ok(data.as_chunks().0.iter().map(|l| i64::from(i32::from_le_bytes(*l))).collect())
        }
        (1, DataType::Int64) => {
            Ok(data.as_chunks().0.iter().map(|label| i64::from_le_bytes(*label)).collect())
        }
        (rank, data_type) => {
            let data_type = layout::type_name(data_type);
            Err(bad(format!(
                "labels need an array of one dimension of uint8, int32 or int64; this one has {rank} of {data_type}"
            )))
        }
    }
}

/// Data set whose samples are the parts of one array along its first dimension.
pub(super) struct Npy {
    name: String,
    form: ArrayHeader,
    file: SampleFile,
    sample_bytes: u64,
}

impl Npy {
    /// Reads the header of a file. The elements are read later, sample by sample.
    pub(super) fn open(path: &Path, file: SampleFile) -> Result<Self, DatasetError> {
        if file.bytes() == 0 {
            return Err(DatasetError::Empty(path.into()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let form = ArrayHeader::of_file(path, &file)?;
        let bad = |why: &str| DatasetError::BadArray { path: name.clone(), why: why.into() };
        let sample_bytes = match form.shape.as_slice() {
            [] => {
                return Err(bad(
                    "a single number; the first dimension must be the number of samples",
                ));
            }
            [0, ..] => return Err(bad("it contains no sample")),
            [count, ..] => form.data_bytes / *count as u64,
        };
        if sample_bytes == 0 {
            return Err(bad("its samples have no elements"));
        }
        Ok(Self { name, form, file, sample_bytes })
    }
}

impl Dataset for Npy {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sample_count(&self) -> usize {
        self.form.shape[0]
    }

    fn layout(&self) -> Option<InputLayout> {
        let shape = self.form.shape[1..].iter().map(|length| *length as i64).collect();
        let data_type = self.form.data_type as i32;
        Some(InputLayout { tensors: vec![TensorSpec { name: String::new(), data_type, shape }] })
    }

    fn sample_bytes(&self, _: usize) -> u64 {
        self.sample_bytes
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        let start = self.form.data_at as u64 + index as u64 * self.sample_bytes;
        let data = self.file.read(start, self.sample_bytes)?;
        let (data_type, shape) = (self.form.data_type, self.form.shape[1..].to_vec());
        Ok(Sample::Tensors(vec![Tensor { data_type, shape, data }]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Bytes {
        crate::npy_file::npy_under(header, data.iter().copied()).into()
    }

    fn open(header: &str, data: &[u8]) -> Result<Npy, String> {
        let file = SampleFile::in_memory("x.npy", npy(header, data));
        Npy::open(Path::new("x.npy"), file).map_err(|error| error.to_string())
    }

    #[test]
    fn samples_are_parts_of_the_array() {
        let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }\n";
        let data = open(header, &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
        assert_eq!((data.sample_count(), data.sample_bytes(0)), (2, 4));
        let layout = data.layout().unwrap();
        assert_eq!(data.read(1).unwrap().into_payload(&layout)[..], [2, 0, 0, 0]);
        assert_eq!(layout::describe(&layout), "int32[1]");
    }

    #[test]
    fn every_bad_array_says_what_is_wrong() {
        let c = |descr: &str, shape: &str| {
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
        };
        let fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }\n";
        for (header, data, want) in [
            (c("|u1", "(4, 2)"), &[0; 7][..], "announces 8 bytes of data, the file has 7"),
            (c("<f8", "(1,)"), &[0; 8], "type '<f8' are not supported"),
            (c(">i4", "(1,)"), &[0; 4], "not supported"),
            (fortran.into(), &[0; 4], "Fortran order"),
            (c("|u1", "(0, 4)"), &[], "contains no sample"),
            ("{'descr': ".into(), &[], "not a .npy file"),
        ] {
            let error = open(&header, data).err().unwrap();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn labels_are_whole_numbers_in_one_dimension() {
        let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n";
        let file = npy(header, &[7, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!(labels("l.npy", file).unwrap(), [7, -1]);
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
        assert!(labels("l.npy", npy(header, &[0; 4])).is_err());
    }
}
