//! Where samples come from: array files, a folder, or a seeded generator.

mod folder;
mod joined;
mod mapped_file;
mod npy;
mod npy_header;
mod synthetic;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use netdiv_proto::layout::{self, DataType, InputLayout, TensorView};

pub use npy::labels;

/// The data set of the demo: 500 held-out handwritten digits (`deploy/digits/README.md`).
pub const DIGITS: &str = "digits";
const DIGITS_IMAGES: &[u8] = include_bytes!("../../../deploy/digits/images.npy");
const DIGITS_LABELS: &[u8] = include_bytes!("../../../deploy/digits/labels.npy");

/// A sample.
#[derive(Debug, Clone)]
pub enum Sample {
    /// Bytes of unknown meaning.
    Bytes(Bytes),
    /// Tensors, in the data set's order.
    Tensors(Vec<Tensor>),
}

/// One tensor of a sample.
#[derive(Debug, Clone)]
pub struct Tensor {
    /// Element type.
    pub data_type: DataType,
    /// Lengths of its dimensions.
    pub shape: Vec<usize>,
    /// Elements, little-endian.
    pub data: Bytes,
}

/// Samples by index.
pub trait Dataset: Send + Sync {
    /// Name for the logs.
    fn name(&self) -> String;

    /// Number of samples, at least one.
    fn sample_count(&self) -> usize;

    /// The tensors of a sample; `None` for bytes of unknown meaning.
    fn layout(&self) -> Option<InputLayout>;

    /// Bytes of one sample, without reading it.
    fn sample_bytes(&self, index: usize) -> u64;

    /// Brings one sample into memory.
    fn read(&self, index: usize) -> Result<Sample, DatasetError>;
}

impl Tensor {
    fn view(&self) -> TensorView<'_> {
        TensorView { data_type: self.data_type, shape: self.shape.clone(), data: &self.data }
    }
}

impl Sample {
    /// The payload for whoever takes that layout (`netdiv_proto::layout`): one tensor of fixed shape as it is, several or
    /// variable ones packed.
    pub fn into_payload(self, takes: &InputLayout) -> Bytes {
        let packed = !takes.tensors.is_empty() && layout::raw_tensor(takes).is_none();
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Tensors(mut tensors) if tensors.len() == 1 && !packed => tensors.remove(0).data,
            Self::Tensors(tensors) => {
                let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
                layout::pack(&views)
            }
        }
    }
}

/// Why a data set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The file or folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is not a usable array.
    #[error("{path}: {why}")]
    BadArray {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no sample.
    #[error("{} holds no sample", .0.display())]
    Empty(PathBuf),
    /// The folder holds something that is not a file.
    #[error("{} is not a file; a data set folder holds one file for each sample", .0.display())]
    NotAFile(PathBuf),
    /// Data sets that cannot be joined.
    #[error("{0}")]
    CannotJoin(String),
    /// The generator's description cannot be read.
    #[error("`{0}`: write synthetic:COUNTxBYTES, or synthetic:COUNTxBYTES@SEED")]
    BadSynthetic(String),
}

/// Opens the data set of that name: `digits`, `synthetic:COUNTxBYTES[@SEED]`, a `.npy` file, or a folder; or several, joined
/// by `+`, whose samples have one tensor of each.
pub fn open(name: &str) -> Result<Box<dyn Dataset>, DatasetError> {
    if name == DIGITS {
        let array = npy::Array::parse("digits (embedded)", Bytes::from_static(DIGITS_IMAGES))?;
        return Ok(Box::new(npy::Npy::new(DIGITS.into(), array).checked()?));
    }
    if let Some(description) = name.strip_prefix("synthetic:") {
        return Ok(Box::new(synthetic::Synthetic::parse(name, description)?));
    }
    let path = Path::new(name);
    if !path.exists() && name.contains('+') {
        let parts = name.split('+').map(open).collect::<Result<_, _>>()?;
        return Ok(Box::new(joined::Joined::new(name, parts)?));
    }
    let metadata = std::fs::metadata(path)
        .map_err(|error| DatasetError::Unreadable { path: path.into(), error })?;
    if metadata.is_dir() {
        return Ok(Box::new(folder::Folder::open(path)?));
    }
    let array = npy::Array::parse(name, mapped_file::map(path)?)?;
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Box::new(npy::Npy::new(file_name.into_owned(), array).checked()?))
}

/// The labels that belong to the embedded data set.
pub fn digits_labels() -> Result<Vec<i64>, DatasetError> {
    labels("digits labels (embedded)", Bytes::from_static(DIGITS_LABELS))
}

/// The labels in a `.npy` file: one whole number for each sample.
pub fn labels_of_file(path: &Path) -> Result<Vec<i64>, DatasetError> {
    labels(&path.display().to_string(), mapped_file::map(path)?)
}
