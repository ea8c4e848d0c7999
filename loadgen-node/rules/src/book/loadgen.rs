//! The LoadGens that rounds accept, known by the files they are built from.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::round::decimal;
use crate::input::files::sha256_of;

/// The header that LoadGen's build makes of `mlperf.conf`, and may list or not.
const CONF_HEADER: &str = "/mlperf_conf.h";

/// A row of `loadgens.toml`: one state of `loadgen/` in mlcommons/inference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadGen {
    /// The versions that it had while its files were these.
    pub versions: Vec<String>,
    /// The first commit with these files.
    pub commit: String,
    /// The date of that commit.
    pub date: String,
    /// A tag with these files.
    pub tag: Option<String>,
    /// `schedule_rng_seed` of its mlperf.conf, by which it belongs to a round.
    #[serde(with = "decimal")]
    pub schedule_seed: u64,
    /// As in [`Sources`].
    pub sources_sha256: String,
    /// SHA-1 of the header made of its mlperf.conf.
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

/// The files of a LoadGen, as it lists them itself (`loadgen_file_sha1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// SHA-256 over the names and the SHA-1 of its sources, in hex; `loadgens.toml` says how it is computed.
    pub sha256: String,
    /// SHA-1 of `mlperf_conf.h`, where it is listed.
    pub conf_header_sha1: Option<String>,
}

impl Sources {
    /// Sums up files, each a path below `loadgen/` and its SHA-1.
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

/// A LoadGen as it describes itself, in a log or in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltLoadGen {
    /// Its version and revision, such as `6.0.17 @ d6147c7eb7`.
    pub version: String,
    /// Git's status of its files: empty or `NA` without changes.
    pub changes: String,
    /// Its files.
    pub sources: Sources,
}

impl BuiltLoadGen {
    /// The version without the revision. The revision is that of the checkout and says nothing of its files.
    pub fn number(&self) -> &str {
        self.version.split(" @ ").next().unwrap_or_default()
    }
}
