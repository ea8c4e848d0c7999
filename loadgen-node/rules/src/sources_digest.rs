//! The SHA-256 of the program's sources (N16).

use sha2::{Digest as _, Sha256};

/// SHA-256 over a program's sources, each a path and its text: path, NUL, text, NUL, in the order of the paths. In hex.
pub fn sources_sha256(sources: &[(&str, &str)]) -> String {
    let mut sorted: Vec<_> = sources.to_vec();
    sorted.sort_unstable();
    let mut hash = Sha256::new();
    for (path, text) in sorted {
        for part in [path, text] {
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
        let hash = sources_sha256(&[("b", "2"), ("a", "1")]);
        assert_eq!(hash, sources_sha256(&[("a", "1"), ("b", "2")]));
        assert_ne!(hash, sources_sha256(&[("a", "1b"), ("", "2")]));
        let whole = Sha256::digest(b"a\x001\x00b\x002\x00");
        assert_eq!(hash, hex::encode(whole));
    }
}
