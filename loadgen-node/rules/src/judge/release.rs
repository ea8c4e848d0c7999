//! Of N3: which tagged release a LoadGen is, by the version that it reports (rules, section 5.1).

use crate::book::{Package, Release, Table};

/// A release of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'t> {
    pub(crate) release: &'t Release,
    /// The Python package, where it is one that differs from the tag.
    pub(crate) package: Option<&'t Package>,
}

/// The release of a version such as `5.0.11 @ ef1bd3b95e`, or why it is none.
pub(crate) fn known<'t>(table: &'t Table, version: &str) -> Result<Known<'t>, String> {
    let (number, revision) = version.split_once(" @ ").unwrap_or((version, "NA"));
    let Some(release) = table.releases().find(|release| release.version == number) else {
        let known: Vec<_> =
            table.releases().map(|r| format!("{} (tag {})", r.version, r.tag)).collect();
        let known = known.join(", ");
        return Err(format!("LoadGen {version} is of no known tag; use one of {known}"));
    };
    let package = release.package.as_ref().filter(|package| package.revision == revision);
    // A build outside of a git checkout says NA; then the files alone speak.
    let is_its = |known: &String| known == revision;
    if revision != "NA" && package.is_none() && !release.revisions.iter().any(is_its) {
        let tag = &release.tag;
        return Err(format!("it was built at revision {revision}, which is not that of tag {tag}"));
    }
    Ok(Known { release, package })
}

impl Known<'_> {
    /// What leaves open whether it is the tag.
    pub(crate) fn doubt(&self) -> Option<String> {
        let Package { differs, .. } = self.package?;
        Some(format!(
            "it is of a Python package whose code is that of tag {}, but {differs}: whether that counts as the tag is for the \
             reviewers to say. A build from a checkout of the tag (NETDIV_LOADGEN_DIR) leaves no doubt",
            self.release.tag
        ))
    }
}
