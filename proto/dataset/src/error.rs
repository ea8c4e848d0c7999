//! Errors of data sets.

use std::path::PathBuf;

use netdiv_node_common::resources::memory::TooLittleMemory;

/// Error of a data set.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum DatasetError {
    /// The file or folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    /// The file is not a usable array.
    #[error("{path}: {why}")]
    BadArray { path: String, why: String },
    /// The data set has no sample.
    #[error("{} contains no sample", .0.display())]
    Empty(PathBuf),
    /// The folder has an entry that is not a file.
    #[error("{} is not a file; a data set folder contains one file for each sample", .0.display())]
    NotAFile(PathBuf),
    /// A file has changed since the data set was opened.
    #[error("{} has changed since the data set was opened: {why}. Do not write to a data set that is in use", path.display())]
    Changed { path: PathBuf, why: String },
    /// The manifest of a prepared data set is invalid or unsupported.
    #[error("{}: {why}. Prepare the data set again (deploy/data), or remove that file", path.display())]
    BadManifest { path: PathBuf, why: String },
    /// The file that lists the parts of a data set is invalid, or does not describe a part.
    #[error("{}: {why}. Prepare the data set again (deploy/data)", path.display())]
    BadParts { path: PathBuf, why: String },
    /// The data set has several parts, and this command uses one file.
    #[error("{} lists parts, which `loadgen-node run` selects by its mode; give the file of one part here", .0.display())]
    HasParts(PathBuf),
    /// A sample differs from the prepared sample.
    #[error("sample {index} ({name}) is not the one in {}: prepare the data set again (deploy/data)", manifest.display())]
    SampleDiffers { index: usize, name: String, manifest: PathBuf },
    /// A sample does not fit in memory.
    #[error("{name}, sample {index}: {error}")]
    TooLarge {
        name: String,
        index: usize,
        /// Required and available memory.
        error: TooLittleMemory,
    },
    /// The data sets cannot be joined.
    #[error("{0}")]
    CannotJoin(String),
    /// The description of generated samples is invalid.
    #[error("`{0}`: write synthetic:COUNTxBYTES, or synthetic:COUNTxBYTES@SEED")]
    BadSynthetic(String),
    /// The description of generated prompts is invalid.
    #[error(
        "`{0}`: write synthetic-ids:COUNTxTOKENS or synthetic-ids:COUNTxMIN-MAX, and append @SEED for other prompts"
    )]
    BadSyntheticIds(String),
}
