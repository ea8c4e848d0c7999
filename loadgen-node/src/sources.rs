//! The sources that this program was made of.

/// Each file's path from the top folder, and its text.
pub static SOURCES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// SHA-256 over all of them, in hex.
pub(crate) fn sha256() -> String {
    netdiv_rules::submission::sources_sha256(SOURCES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_dispatch_library_is_among_them() {
        for file in ["qdl/src/outgoing.rs", "proto/contract/netdiv/v1/sut_node.proto", "Cargo.lock"]
        {
            assert!(SOURCES.iter().any(|(path, text)| *path == file && !text.is_empty()), "{file}");
        }
    }
}
