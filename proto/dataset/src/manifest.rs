//! Manifests of prepared data sets: `deploy/data` writes a manifest beside each data set, with the
//! digest of every sample.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netdiv_node_common::resources::{companion::companion, files, json};
use serde::Deserialize;

use crate::error::DatasetError;

/// Suffix of a manifest's file name, after the name of the data set.
const ENDING: &str = ".manifest.json";

/// Supported version of the format.
const FORM: u32 = 1;

/// Maximum length of a manifest, in bytes. The manifest of a million samples has about 120 MB.
const MAX_BYTES: u64 = 1 << 29;

/// Origin and purpose of a prepared data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Name of the file or folder with the samples.
    pub data_set: String,
    /// Benchmark, without its accuracy target: `bert`, `dlrm-v2`.
    pub benchmark: String,
    /// `validation` or `calibration`.
    pub subset: String,
    /// Form of a sample, such as `uint8`.
    pub samples_form: String,
    /// True if the data set contains every sample of the published set.
    pub complete: bool,
    /// SHA-256 of the manifest, in hex.
    pub manifest_sha256: String,
}

/// Entry of a manifest about one sample.
#[derive(Debug, Deserialize)]
pub(super) struct ManifestSample {
    pub(super) name: String,
    pub(super) sha256: String,
}

/// Keys of a manifest that this program reads. It ignores all other keys, which inform readers of
/// the file.
#[derive(Deserialize)]
struct ManifestFile {
    form: u32,
    benchmark: String,
    subset: String,
    samples_form: String,
    complete: bool,
    #[serde(default)]
    sources: BTreeMap<String, String>,
    samples: Vec<ManifestSample>,
}

pub(super) struct Manifest {
    pub(super) path: PathBuf,
    pub(super) prepared: Provenance,
    /// SHA-256 of the files that the samples were made of, by name.
    pub(super) sources: BTreeMap<String, String>,
    pub(super) samples: Vec<ManifestSample>,
}

impl Manifest {
    /// Reads the manifest beside a data set, if there is one.
    pub(super) fn find_beside(data_set: &Path) -> Result<Option<Self>, DatasetError> {
        // `.` and `..` have no file name.
        let whole = data_set.canonicalize().unwrap_or_default();
        let data_set = if data_set.file_name().is_some() { data_set } else { &whole };
        let Some(name) = data_set.file_name() else { return Ok(None) };
        let beside = |path: &Path| {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(ENDING);
            path.with_file_name(name)
        };
        let unreadable =
            |path: &Path, error| DatasetError::Unreadable { path: path.to_owned(), error };
        let found = companion(data_set, beside).map_err(|error| unreadable(data_set, error))?;
        let Some(path) = found else { return Ok(None) };
        let text =
            files::read_to_string(&path, MAX_BYTES).map_err(|error| unreadable(&path, error))?;
        let bad = |why: String| DatasetError::BadManifest { path: path.clone(), why };
        let written: ManifestFile = json::from_slice(text.as_bytes()).map_err(bad)?;
        if written.form != FORM {
            return Err(bad(format!(
                "it has form {}, and only form {FORM} is supported",
                written.form
            )));
        }
        let prepared = Provenance {
            data_set: name.to_string_lossy().into_owned(),
            benchmark: written.benchmark,
            subset: written.subset,
            samples_form: written.samples_form,
            complete: written.complete,
            manifest_sha256: files::sha256_of([text.as_bytes()]),
        };
        let ManifestFile { sources, samples, .. } = written;
        Ok(Some(Self { path, prepared, sources, samples }))
    }
}
