//! States the version of the program and the git revision of its sources. The program is a crate of
//! its own, so that a commit does not compile the library again.

#[path = "../../proto/node-common/revision.rs"]
mod revision;

/// Files and folders of the program's sources, relative to the top folder.
const PARTS: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "proto", "sut-node", "python/netdiv-engine", "deploy"];

fn main() {
    revision::state(concat!(env!("CARGO_MANIFEST_DIR"), "/../..").as_ref(), &PARTS);
}
