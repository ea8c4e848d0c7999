//! One array in NumPy's `.npy` format; the first dimension counts the samples.

use bytes::Bytes;
use netdiv_contract::layout::{self, DataType, InputLayout, TensorSpec};

use crate::{
    error::DatasetError,
    npy_header::Header,
    sample::{Dataset, Sample, Tensor},
};

/// Distance between the bytes that are read to bring a mapped sample into memory.
const PAGE_BYTES: usize = 4096;

/// An array whose header has been read and whose length fits it.
pub(super) struct Array {
    pub(super) data_type: DataType,
    pub(super) shape: Vec<usize>,
    pub(super) data: Bytes,
}

impl Array {
    /// Reads the header of a whole file.
    pub(super) fn parse(path: &str, file: Bytes) -> Result<Self, DatasetError> {
        let bad = |why: String| DatasetError::BadArray { path: path.into(), why };
        let Header { descr, fortran_order, shape, data_at } =
            Header::read(&file).map_err(|why| bad(format!("not a .npy file: {why}")))?;
        let data = file.slice(data_at..);
        if fortran_order {
            return Err(bad(
                "the array is in Fortran order; save numpy.ascontiguousarray(a)".into()
            ));
        }
        let data_type = data_type(&descr).ok_or_else(|| {
            bad(format!(
                "elements of type '{descr}' are not supported; use uint8, int8, int32, int64, float16 or \
                 float32, little-endian"
            ))
        })?;
        let want = shape
            .iter()
            .try_fold(layout::element_bytes(data_type), |product, n| product.checked_mul(*n))
            .ok_or_else(|| bad("the shape overflows".into()))?;
        if data.len() != want {
            let got = data.len();
            return Err(bad(format!(
                "the header promises {want} bytes of data, the file has {got}; it is truncated or damaged"
            )));
        }
        Ok(Self { data_type, shape, data })
    }
}

fn data_type(descr: &str) -> Option<DataType> {
    Some(match descr {
        "|u1" => DataType::Uint8,
        "|i1" => DataType::Int8,
        "<i4" => DataType::Int32,
        "<i8" => DataType::Int64,
        "<f2" => DataType::Float16,
        "<f4" => DataType::Float32,
        _ => return None,
    })
}

/// The elements of a one-dimensional array of whole numbers.
pub fn labels(path: &str, file: Bytes) -> Result<Vec<i64>, DatasetError> {
    let array = Array::parse(path, file)?;
    let data = &array.data;
    match (array.shape.len(), array.data_type) {
        (1, DataType::Uint8) => Ok(data.iter().map(|label| i64::from(*label)).collect()),
        (1, DataType::Int32) => {
            Ok(data.as_chunks().0.iter().map(|l| i64::from(i32::from_le_bytes(*l))).collect())
        }
        (1, DataType::Int64) => {
            Ok(data.as_chunks().0.iter().map(|label| i64::from_le_bytes(*label)).collect())
        }
        (rank, data_type) => {
            let data_type = layout::type_name(data_type);
            let why = format!(
                "labels are one dimension of uint8, int32 or int64; this has {rank} of {data_type}"
            );
            Err(DatasetError::BadArray { path: path.into(), why })
        }
    }
}

/// A data set in one array.
pub(super) struct Npy {
    name: String,
    array: Array,
    sample_bytes: usize,
}

impl Npy {
    pub(super) fn new(name: String, array: Array) -> Self {
        let sample_bytes = array.data.len().checked_div(array.shape.first().copied().unwrap_or(0));
        Self { name, array, sample_bytes: sample_bytes.unwrap_or(0) }
    }

    pub(super) fn checked(self) -> Result<Self, DatasetError> {
        let bad = |why: &str| DatasetError::BadArray { path: self.name.clone(), why: why.into() };
        match self.array.shape.as_slice() {
            [] => Err(bad("a single number; the first dimension has to count the samples")),
            [0, ..] => Err(bad("it holds no sample")),
            _ if self.sample_bytes == 0 => Err(bad("its samples have no elements")),
            _ => Ok(self),
        }
    }
}

impl Dataset for Npy {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sample_count(&self) -> usize {
        self.array.shape[0]
    }

    fn layout(&self) -> Option<InputLayout> {
        let shape = self.array.shape[1..].iter().map(|length| *length as i64).collect();
        let data_type = self.array.data_type as i32;
        Some(InputLayout { tensors: vec![TensorSpec { name: String::new(), data_type, shape }] })
    }

    fn sample_bytes(&self, _: usize) -> u64 {
        self.sample_bytes as u64
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        let start = index * self.sample_bytes;
        let data = self.array.data.slice(start..start + self.sample_bytes);
        // A mapped file is read on first access, which must be now and not in the timed region.
        for page in data.chunks(PAGE_BYTES) {
            std::hint::black_box(page[0]);
        }
        let (data_type, shape) = (self.array.data_type, self.array.shape[1..].to_vec());
        Ok(Sample::Tensors(vec![Tensor { data_type, shape, data }]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Bytes {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file.into()
    }

    fn parse(header: &str, data: &[u8]) -> Result<Array, String> {
        Array::parse("x.npy", npy(header, data)).map_err(|error| error.to_string())
    }

    #[test]
    fn samples_are_slices_of_the_file() {
        let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }\n";
        let array = parse(header, &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
        let data = Npy::new("x".into(), array).checked().unwrap();
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
            (c("|u1", "(4, 2)"), &[0; 7][..], "promises 8 bytes of data, the file has 7"),
            (c("<f8", "(1,)"), &[0; 8], "type '<f8' are not supported"),
            (c(">i4", "(1,)"), &[0; 4], "not supported"),
            (fortran.into(), &[0; 4], "Fortran order"),
            ("{'descr': ".into(), &[], "not a .npy file"),
        ] {
            let error = parse(&header, data).err().unwrap();
            assert!(error.contains(want), "{error}");
        }
        let empty = Npy::new("x".into(), parse(&c("|u1", "(0, 4)"), &[]).unwrap());
        assert!(empty.checked().err().unwrap().to_string().contains("holds no sample"));
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
