//! SHA-256 of the program's sources (N16).

use sha2::{Digest as _, Sha256};

/// Source file of a program: its path from the top folder, and its bytes.
pub type SourceFile<'a> = (&'a str, &'a [u8]);

/// Returns the SHA-256 of a program's sources in hex: over path, NUL, bytes, NUL of each file, in
/// the order of the paths.
pub fn sources_sha256(sources: &[SourceFile<'_>]) -> String {
    let mut sorted: Vec<_> = sources.to_vec();
    sorted.sort_unstable();
    let mut hash = Sha256::new();
    for (path, bytes) in sorted {
        for part in [path.as_bytes(), bytes] {
            hash.update(part);
            hash.update([0]);
        }
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_sources_does_not_matter() {
        let hash = sources_sha256(&[("b", b"2"), ("a", b"1")]);
        assert_eq!(hash, sources_sha256(&[("a", b"1"), ("b", b"2")]));
        assert_ne!(hash, sources_sha256(&[("a", b"1b"), ("", b"2")]));
        let whole = Sha256::digest(b"a\x001\x00b\x002\x00");
        assert_eq!(hash, hex::encode(whole));
    }
}
