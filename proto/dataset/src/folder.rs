//! A folder with one file for each sample, in the order of their names.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout, TensorSpec};
use netdiv_resources::files;

use crate::{
    error::DatasetError,
    mapped_file,
    npy::Array,
    sample::{Dataset, Sample, Tensor},
};

/// The files' bytes as they are, or, when all are `.npy`, one tensor each, whose shapes may differ.
pub(super) struct Folder {
    name: String,
    files: Vec<SampleFile>,
    layout: Option<InputLayout>,
}

struct SampleFile {
    path: PathBuf,
    bytes: u64,
    tensor: Option<(DataType, Vec<usize>)>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, DatasetError> {
        let unreadable = |error| DatasetError::Unreadable { path: path.into(), error };
        let mut paths = Vec::new();
        for entry in path.read_dir().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                paths.push(entry.path());
            }
        }
        paths.sort();
        let arrays = paths.iter().all(|path| path.extension().is_some_and(|e| e == "npy"));
        let files: Vec<_> = paths
            .into_iter()
            .map(|path| SampleFile::open(path, arrays))
            .collect::<Result<_, _>>()?;
        if files.is_empty() {
            return Err(DatasetError::Empty(path.into()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let layout = if arrays { Some(common_layout(path, &files)?) } else { None };
        Ok(Self { name, files, layout })
    }
}

impl SampleFile {
    fn open(path: PathBuf, array: bool) -> Result<Self, DatasetError> {
        let unreadable = |error| DatasetError::Unreadable { path: path.clone(), error };
        let metadata = std::fs::metadata(&path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(DatasetError::NotAFile(path));
        }
        if !array {
            return Ok(Self { bytes: metadata.len(), path, tensor: None });
        }
        let array = Array::parse(&path.display().to_string(), mapped_file::map(&path)?)?;
        let bytes = array.data.len() as u64;
        Ok(Self { path, bytes, tensor: Some((array.data_type, array.shape)) })
    }
}

/// The layout that fits all files: lengths that differ are free.
fn common_layout(folder: &Path, files: &[SampleFile]) -> Result<InputLayout, DatasetError> {
    let mut common: Option<TensorSpec> = None;
    for (data_type, shape) in files.iter().filter_map(|file| file.tensor.as_ref()) {
        let spec = common.get_or_insert_with(|| TensorSpec {
            name: String::new(),
            data_type: *data_type as i32,
            shape: shape.iter().map(|length| *length as i64).collect(),
        });
        if spec.data_type() != *data_type || spec.shape.len() != shape.len() {
            return Err(DatasetError::BadArray {
                path: folder.display().to_string(),
                why: "its arrays differ in type or in the number of dimensions".into(),
            });
        }
        for (known, length) in spec.shape.iter_mut().zip(shape) {
            if *known != *length as i64 {
                *known = -1;
            }
        }
    }
    Ok(InputLayout { tensors: common.into_iter().collect() })
}

impl Dataset for Folder {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sample_count(&self) -> usize {
        self.files.len()
    }

    fn layout(&self) -> Option<InputLayout> {
        self.layout.clone()
    }

    fn sample_bytes(&self, index: usize) -> u64 {
        self.files[index].bytes
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        let file = &self.files[index];
        let unreadable = |error| DatasetError::Unreadable { path: file.path.clone(), error };
        let content = Bytes::from(files::read(&file.path, u64::MAX).map_err(unreadable)?);
        if file.tensor.is_none() {
            return Ok(Sample::Bytes(content));
        }
        let Array { data_type, shape, data } =
            Array::parse(&file.path.display().to_string(), content)?;
        Ok(Sample::Tensors(vec![Tensor { data_type, shape, data }]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("b.jpg", "second"), ("a.jpg", "first"), (".hidden", "no")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let data = Folder::open(folder.path()).unwrap();
        assert_eq!(data.sample_count(), 2);
        let Sample::Bytes(bytes) = data.read(0).unwrap() else { panic!("a file's bytes") };
        assert_eq!(bytes, "first");
        assert_eq!((data.sample_bytes(1), data.layout()), (6, None));
    }

    #[test]
    fn an_empty_folder_and_a_folder_inside_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Folder::open(folder.path()), Err(DatasetError::Empty(_))));
        std::fs::create_dir(folder.path().join("more")).unwrap();
        assert!(matches!(Folder::open(folder.path()), Err(DatasetError::NotAFile(_))));
    }
}
