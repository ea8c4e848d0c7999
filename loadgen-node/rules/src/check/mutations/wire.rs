//! Edits of the description of the wire, and of the sources that it belongs to.

use super::{
    Row,
    tree::{HOME, Tree},
};
use crate::{Rule::*, sources_digest::sources_sha256, tree::list_files};

const WIRE: &str = "network/acme/documentation/wire-protocol.md";
const SOURCES: &str = "network/acme/code/netdiv";

/// Gives the sources' new digest to REVISION and to every record, as a program built from them would have.
fn signed(tree: &Tree) {
    let folder = tree.path(SOURCES);
    let paths = list_files(&folder).unwrap().into_iter();
    let read = |path: std::path::PathBuf| {
        let bytes = std::fs::read(folder.join(&path)).unwrap();
        (path.to_str().unwrap().to_owned(), bytes)
    };
    let files: Vec<_> = paths.map(read).filter(|(path, _)| path != "REVISION").collect();
    let files: Vec<_> = files.iter().map(|(path, bytes)| (&path[..], &bytes[..])).collect();
    let digest = sources_sha256(&files);
    tree.write(&format!("{SOURCES}/REVISION"), &digest);
    tree.every_record(|record| record.versions.sources_sha256 = digest.clone());
}

/// Edits the document and the sources that it is taken from.
fn both(tree: &Tree, from: &str, to: &str) {
    tree.replace(WIRE, from, to);
    tree.replace(&format!("{SOURCES}/docs/PROTOCOL.md"), from, to);
    signed(tree);
}

pub(super) const ROWS: &[Row] = &[
    ("a field with another number", &[N17], |tree| {
        both(tree, "| 3 `decoded_bytes` |", "| 5 `decoded_bytes` |")
    }),
    ("a field of another type", &[N17], |tree| {
        both(tree, "| 9 `batch_size` | uint32 |", "| 9 `batch_size` | uint64 |")
    }),
    ("a field of another name", &[N17], |tree| both(tree, "`queue_ns` |", "`wait_ns` |")),
    ("a field that is sent by nobody", &[N17], |tree| {
        let row = "| 15 `payload` | bytes | the sample";
        both(tree, row, &format!("| 14 `index` | uint64 | of the sample |\n{row}"));
    }),
    ("a field of a call's header that is left out", &[N17], |tree| {
        both(tree, "| 5 `digests` | bool |", "| `digests` | bool |");
    }),
    ("a message that is left out", &[N17], |tree| both(tree, "field of `FlushResponse`", "field")),
    ("an example with other bytes than the sources'", &[N17], |tree| {
        tree.replace(WIRE, "09 03 00 00", "09 04 00 00");
    }),
    ("a sentence that the sources do not have", &[N17], |tree| {
        tree.replace(WIRE, "The QDL never groups", "The QDL groups");
    }),
    ("sources without a member of their workspace", &[N16], |tree| {
        tree.remove(&format!("{SOURCES}/qdl/Cargo.toml"));
        signed(tree);
    }),
    ("sources without their lock file", &[N16], |tree| {
        tree.remove(&format!("{SOURCES}/Cargo.lock"));
        signed(tree);
    }),
    ("sources without a module", &[N16], |tree| {
        tree.write(&format!("{SOURCES}/qdl/src/lib.rs"), "mod dispatch;\n");
        signed(tree);
    }),
    ("sources without a file that they take in", &[N16], |tree| {
        tree.write(
            &format!("{SOURCES}/qdl/src/lib.rs"),
            "const T: &[u8] = include_bytes!(\"t.npy\");\n",
        );
        signed(tree);
    }),
    ("sources with a dependency that is elsewhere", &[N16], |tree| {
        let path = format!("{HOME}/code/netdiv/qdl/Cargo.toml");
        tree.write(
            &path,
            &format!("{}[dependencies]\na = {{ path = \"../../a\" }}\n", tree.read(&path)),
        );
        signed(tree);
    }),
];
