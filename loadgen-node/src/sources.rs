//! The sources of this program.

use netdiv_rules::submission::{SourceFile, sources_sha256};

/// Path of each file relative to the top folder, and its bytes.
pub static SOURCES: &[SourceFile<'_>] = &include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Returns the SHA-256 over all sources, in hex.
pub(crate) fn sha256() -> String {
    sources_sha256(SOURCES)
}

#[cfg(test)]
mod tests {
    use netdiv_rules::submission::missing_sources;

    use super::*;

    #[test]
    fn the_query_dispatch_library_is_among_them() {
        for file in ["qdl/src/sender.rs", "proto/contract/netdiv/v1/sut_node.proto", "Cargo.lock"] {
            assert!(
                SOURCES.iter().any(|(path, bytes)| *path == file && !bytes.is_empty()),
                "{file}"
            );
        }
    }

    #[test]
    fn they_are_whole() {
        assert_eq!(missing_sources(SOURCES), [""; 0]);
        // The build script takes the README from this file.
        let find = |file: &str| SOURCES.iter().find(|(path, _)| *path == file).map(|one| one.1);
        assert!(find("README.md").is_some());
        assert_eq!(find("README.md"), find("loadgen-node/src/sources/readme.txt"));
    }
}
