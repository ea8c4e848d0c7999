//! The program's sources in a submission (N16), and the description of the wire protocol (N17).

use super::{folder::FileTree, gap::Problems};
use crate::{
    sources_digest::{SourceFile, sources_sha256},
    tree::{IMPLEMENTATION, SubmitterFolder, documents},
};

/// Path of the wire protocol's description among the sources.
pub(crate) const PROTOCOL: &str = "docs/PROTOCOL.md";

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
