//! LoadGen builds that rounds accept, identified by their source files.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::round::decimal;
use crate::input::files::sha256_of;

/// Header that LoadGen's build generates from `mlperf.conf`. A build may omit it from its list of
/// files.
const CONF_HEADER: &str = "/mlperf_conf.h";

/// A row of `loadgens.toml`: one version of the folder `loadgen/` in mlcommons/inference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadGen {
    /// Version numbers that LoadGen had with these files.
    pub versions: Vec<String>,
    /// First commit with these files.
    pub commit: String,
    /// Date of that commit.
    pub date: String,
    /// Tag of mlcommons/inference with these files, if there is one.
    pub tag: Option<String>,
    /// `schedule_rng_seed` in mlperf.conf, which identifies the round.
    #[serde(with = "decimal")]
    pub schedule_seed: u64,
    /// SHA-256 of the source files, as in [`Sources`].
    pub sources_sha256: String,
    /// SHA-1 of the header generated from mlperf.conf.
    pub mlperf_conf_h_sha1: String,
}

impl fmt::Display for LoadGen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commit, date, .. } = self;
        match &self.tag {
            Some(tag) => write!(f, "tag {tag} (commit {commit} of {date})"),
            None => write!(f, "commit {commit} of {date}"),
        }
    }
}

/// Source files of a LoadGen build, as the build lists them (`loadgen_file_sha1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// SHA-256 over the names and the SHA-1 of the source files, in hex; `loadgens.toml` defines
    /// the computation.
    pub sha256: String,
    /// SHA-1 of `mlperf_conf.h`, if the build lists it.
    pub conf_header_sha1: Option<String>,
}

impl Sources {
    /// Computes the digests of a build's source files. Each file is its path below `loadgen/` and
    /// its SHA-1.
    pub fn of(files: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>) -> Self {
        let mut conf_header_sha1 = None;
        let mut lines = Vec::new();
        for (path, sha1) in files {
            let (path, sha1) = (path.as_ref(), sha1.as_ref());
            if path == CONF_HEADER {
                conf_header_sha1 = Some(sha1.to_owned());
            } else if [".cc", ".h", ".conf"].iter().any(|end| path.ends_with(end)) {
                lines.push(format!("{path} {sha1}\n"));
            }
        }
        lines.sort();
        Self { sha256: sha256_of(lines.concat()), conf_header_sha1 }
    }
}

/// Description of a LoadGen build, from a log or from a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltLoadGen {
    /// Version and revision, such as `6.0.17 @ d6147c7eb7`.
    pub version: String,
    /// Git status of the files, as the build recorded it: empty or `NA` if they are unchanged.
    pub changes: String,
    /// Digests of the source files.
    pub sources: Sources,
}

impl BuiltLoadGen {
    /// Returns the version without the revision. The revision names a checkout and does not
    /// identify the files.
    pub fn number(&self) -> &str {
        self.version.split(" @ ").next().unwrap_or_default()
    }
}
