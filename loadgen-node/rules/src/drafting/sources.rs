//! The program's sources in a submission with their SHA-256 (N16), and the description of the wire
//! protocol (N17).

use sha2::{Digest as _, Sha256};

use super::{folder::FileTree, gap::Problems};
use crate::tree::{IMPLEMENTATION, SubmitterFolder, documents};

/// Path of the wire protocol's description among the sources.
pub(crate) const PROTOCOL: &str = "docs/PROTOCOL.md";

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

/// Adds the sources, their SHA-256, the description of the wire protocol, and for each benchmark a
/// file that points to the sources.
pub(super) fn put(
    sources: &[SourceFile<'_>],
    home: &SubmitterFolder,
    benchmarks: &[&str],
    tree: &mut FileTree,
    problems: &mut Problems,
) {
    let folder = home.sources();
    for (path, bytes) in sources {
        let is_bad = |part: &str| part.is_empty() || part.starts_with('.') || part.contains(' ');
        if path.split('/').any(is_bad) || *path == "REVISION" {
            problems
                .fault(format!("this program's source {path} cannot be submitted under this name"));
        }
        tree.insert(format!("{folder}/{path}"), bytes.to_vec());
    }
    let revision = sources_sha256(sources) + "\n";
    tree.insert(home.revision(), revision.into_bytes());
    for benchmark in benchmarks {
        // The official checker accepts a file with the name of the folder that contains the code.
        let path = format!("{}/{benchmark}", home.code());
        tree.insert(path, format!("{IMPLEMENTATION}\n").into_bytes());
    }
    match sources.iter().find(|(path, _)| *path == PROTOCOL) {
        Some((_, text)) => {
            let text = wire_protocol(&String::from_utf8_lossy(text), home);
            tree.insert(home.document(documents::PROTOCOL), text.into_bytes());
        }
        None => problems.fault(format!("this program was built without {PROTOCOL}")),
    }
}

/// Converts the description of the wire protocol into a document of the submission: its links,
/// which lead from `docs/` to other sources, point to the sources in the submission.
pub(crate) fn wire_protocol(text: &str, home: &SubmitterFolder) -> String {
    let code = home.sources().replacen(&home.root(), "..", 1);
    text.replace("](../", &format!("]({code}/"))
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
