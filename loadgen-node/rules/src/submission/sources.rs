//! The sources of this program, which a submission holds (N16), and the description of the wire (N17).

use sha2::{Digest as _, Sha256};

use netdiv_proto::digest::in_hex;

use super::{Tree, problems::Problems};
use crate::tree::{Home, IMPLEMENTATION, documents};

/// The description of the wire among the sources.
const PROTOCOL: &str = "docs/PROTOCOL.md";

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
    in_hex(&hash.finalize())
}

/// The sources, their SHA-256, the description of the wire, and for each benchmark the file that leads to the sources.
pub(super) fn put(
    sources: &[(&str, &str)],
    home: &Home,
    benchmarks: &[&str],
    tree: &mut Tree,
    problems: &mut Problems,
) {
    let folder = home.sources();
    for (path, text) in sources {
        let is_bad = |part: &str| part.is_empty() || part.starts_with('.') || part.contains(' ');
        if path.split('/').any(is_bad) || *path == "REVISION" {
            problems
                .fault(format!("this program's source {path} cannot be submitted by that name"));
        }
        tree.insert(format!("{folder}/{path}"), text.as_bytes().to_vec());
    }
    let revision = sources_sha256(sources) + "\n";
    tree.insert(home.revision(), revision.into_bytes());
    for benchmark in benchmarks {
        // The official checker takes a file for the name of the folder where the code is.
        let path = format!("{}/{benchmark}", home.code());
        tree.insert(path, format!("{IMPLEMENTATION}\n").into_bytes());
    }
    match sources.iter().find(|(path, _)| *path == PROTOCOL) {
        Some((_, text)) => {
            tree.insert(home.document(documents::PROTOCOL), text.as_bytes().to_vec());
        }
        None => problems.fault(format!("this program was built without {PROTOCOL}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_sources_is_of_no_matter() {
        let hash = sources_sha256(&[("b", "2"), ("a", "1")]);
        assert_eq!(hash, sources_sha256(&[("a", "1"), ("b", "2")]));
        assert_ne!(hash, sources_sha256(&[("a", "1b"), ("", "2")]));
        assert_eq!(hash, in_hex(&Sha256::digest(b"a\x001\x00b\x002\x00")));
    }
}
