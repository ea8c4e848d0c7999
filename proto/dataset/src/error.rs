//! Why a data set cannot be used.

use std::path::PathBuf;

use netdiv_node_common::resources::memory::TooLittleMemory;

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
    /// A file is not what it was when the data set was opened.
    #[error("{} has changed since the data set was opened: {why}. Let nobody write to a data set that is in use", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// In what.
        why: String,
    },
    /// The manifest of a prepared data set cannot be used.
    #[error("{}: {why}. Prepare the data set again (deploy/data), or remove that file", path.display())]
    BadManifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A sample is not the one that was prepared.
    #[error("sample {index} ({name}) is not what {} says: prepare the data set again (deploy/data)", manifest.display())]
    NotAsPrepared {
        /// The sample.
        index: usize,
        /// Its name.
        name: String,
        /// The manifest.
        manifest: PathBuf,
    },
    /// A sample does not fit into memory.
    #[error("{name}, sample {index}: {error}")]
    TooLarge {
        /// The data set.
        name: String,
        /// The sample.
        index: usize,
        /// How much is needed.
        error: TooLittleMemory,
    },
    /// Data sets that cannot be joined.
    #[error("{0}")]
    CannotJoin(String),
    /// The generator's description cannot be read.
    #[error("`{0}`: write synthetic:COUNTxBYTES, or synthetic:COUNTxBYTES@SEED")]
    BadSynthetic(String),
    /// That of the generator of prompts.
    #[error(
        "`{0}`: write synthetic-ids:COUNTxTOKENS or synthetic-ids:COUNTxLEAST-MOST, and @SEED behind it for others"
    )]
    BadSyntheticIds(String),
}
