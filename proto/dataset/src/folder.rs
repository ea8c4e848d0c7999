//! Folder with one file for each sample, in the order of their names.

use std::path::{Path, PathBuf};

use netdiv_contract::layout::{InputLayout, TensorSpec};

use crate::{
    error::DatasetError,
    npy::ArrayHeader,
    sample::{Dataset, Sample, Tensor},
    sample_file::SampleFile,
};

/// Data set in a folder. A sample is a file's bytes. If all files are `.npy`, a sample is one
/// tensor, and the shapes may differ.
pub(super) struct Folder {
    name: String,
    files: Vec<Entry>,
    layout: Option<InputLayout>,
}

/// File of a folder. It is opened again when its sample is read, because a folder may have more
/// files than a process can have open.
struct Entry {
    path: PathBuf,
    /// Length when the data set was opened, in bytes.
    file_bytes: u64,
    array: Option<ArrayHeader>,
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
        let files: Vec<_> =
            paths.into_iter().map(|path| Entry::open(path, arrays)).collect::<Result<_, _>>()?;
        if files.is_empty() {
            return Err(DatasetError::Empty(path.into()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let layout = if arrays { Some(common_layout(path, &files)?) } else { None };
        Ok(Self { name, files, layout })
    }
}

impl Entry {
    fn open(path: PathBuf, array: bool) -> Result<Self, DatasetError> {
        let unreadable = |error| DatasetError::Unreadable { path: path.clone(), error };
        let metadata = std::fs::metadata(&path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(DatasetError::NotAFile(path));
        }
        if !array {
            return Ok(Self { file_bytes: metadata.len(), path, array: None });
        }
        let file = SampleFile::open(&path)?;
        let form = ArrayHeader::of_file(&path, &file)?;
        Ok(Self { file_bytes: file.bytes(), path, array: Some(form) })
    }

    fn read(&self) -> Result<Sample, DatasetError> {
        let file = SampleFile::open(&self.path)?;
        let (before, now) = (self.file_bytes, file.bytes());
        if now != before {
            return Err(file.changed(format!("it had {before} bytes, and now has {now}")));
        }
        let Some(form) = &self.array else { return Ok(Sample::Bytes(file.read(0, now)?)) };
        if ArrayHeader::of_file(&self.path, &file)? != *form {
            return Err(file.changed("its array has another type or shape".into()));
        }
        let (data_type, shape) = (form.data_type, form.shape.clone());
        let data = file.read(now - form.data_bytes, form.data_bytes)?;
        Ok(Sample::Tensors(vec![Tensor { data_type, shape, data }]))
    }
}

/// Returns the layout that fits all files. A length that differs between files is variable.
fn common_layout(folder: &Path, files: &[Entry]) -> Result<InputLayout, DatasetError> {
    let mut common: Option<TensorSpec> = None;
    for ArrayHeader { data_type, shape, .. } in files.iter().filter_map(|file| file.array.as_ref())
    {
        let spec = common.get_or_insert_with(|| TensorSpec {
            name: String::new(),
            data_type: *data_type as i32,
            shape: shape.iter().map(|length| *length as i64).collect(),
        });
        if spec.data_type() != *data_type || spec.shape.len() != shape.len() {
            return Err(DatasetError::BadArray {
                path: folder.display().to_string(),
                why: "its arrays differ in their type or number of dimensions".into(),
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
        let file = &self.files[index];
        file.array.as_ref().map_or(file.file_bytes, |form| form.data_bytes)
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        self.files[index].read()
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
    fn waveforms_of_different_lengths_have_a_variable_length() {
        let folder = tempfile::tempdir().unwrap();
        for (name, count) in [("a.npy", 3), ("b.npy", 5)] {
            let file = crate::npy_file::npy("<i2", &format!("({count},)"), 0..2 * count);
            std::fs::write(folder.path().join(name), file).unwrap();
        }
        let data = Folder::open(folder.path()).unwrap();
        let layout = data.layout().unwrap();
        assert_eq!(netdiv_contract::layout::describe(&layout), "int16[?]");
        assert_eq!((data.sample_bytes(0), data.sample_bytes(1)), (6, 10));
        let payload = data.read(1).unwrap().into_payload(&layout);
        assert_eq!(netdiv_contract::layout::read(&layout, &payload).unwrap()[0].shape, [5]);
    }

    #[test]
    fn a_file_of_another_length_or_kind_than_before_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jpg");
        std::fs::write(&path, "content").unwrap();
        let data = Folder::open(folder.path()).unwrap();
        let loaded = data.read(0).unwrap().into_payload(&InputLayout::default());
        for (content, why) in [("", "it had 7 bytes, and now has 0"), ("contents", "and now has 8")]
        {
            std::fs::write(&path, content).unwrap();
            let error = data.read(0).unwrap_err().to_string();
            assert!(error.contains("a.jpg has changed") && error.contains(why), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(data.read(0).unwrap_err().to_string().contains("a.jpg: it is a device"));
        assert_eq!(loaded, "content");
    }

    #[test]
    fn an_empty_folder_and_a_folder_inside_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Folder::open(folder.path()), Err(DatasetError::Empty(_))));
        std::fs::create_dir(folder.path().join("more")).unwrap();
        assert!(matches!(Folder::open(folder.path()), Err(DatasetError::NotAFile(_))));
    }
}
