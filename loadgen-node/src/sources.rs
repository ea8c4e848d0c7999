//! The sources of this program.

use netdiv_rules::submission::SourceFile;

/// Path of each file relative to the top folder, and its bytes.
pub static SOURCES: &[SourceFile<'_>] = &include!(concat!(env!("OUT_DIR"), "/sources.rs"));

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn find(file: &str) -> Option<&'static [u8]> {
        SOURCES.iter().find(|(path, _)| *path == file).map(|(_, bytes)| *bytes)
    }

    #[test]
    fn the_query_dispatch_library_is_among_them() {
        for file in ["qdl/src/sender.rs", "proto/contract/netdiv/v1/sut_node.proto", "Cargo.lock"] {
            assert!(find(file).is_some_and(|bytes| !bytes.is_empty()), "{file}");
        }
    }

    #[test]
    fn they_are_whole() {
        // The build script takes the README from this file.
        assert!(find("README.md").is_some());
        assert_eq!(find("README.md"), find("loadgen-node/src/sources/readme.txt"));
        // Cargo builds nothing of a workspace without all of its members.
        let manifest = str::from_utf8(find("Cargo.toml").unwrap()).unwrap();
        let manifest: toml::Table = toml::from_str(manifest).unwrap();
        for member in manifest["workspace"]["members"].as_array().unwrap() {
            let manifest = format!("{}/Cargo.toml", member.as_str().unwrap());
            assert!(find(&manifest).is_some(), "{manifest}");
        }
        let protocol = str::from_utf8(find("docs/PROTOCOL.md").unwrap()).unwrap();
        for link in named(protocol, "](../", ")") {
            assert!(find(link).is_some(), "docs/PROTOCOL.md: {link}");
        }
    }

    /// The build script collects all Rust files, but other files only by the ends of their names.
    #[test]
    fn files_that_others_include_are_among_them() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        for (path, bytes) in SOURCES.iter().filter(|(path, _)| path.ends_with(".rs")) {
            let text = str::from_utf8(bytes).unwrap();
            let strings = named(text, "include_str!(\"", "\"");
            for file in strings.chain(named(text, "include_bytes!(\"", "\"")) {
                let file = top.join(path).parent().unwrap().join(file).canonicalize().unwrap();
                let file = file.strip_prefix(&top).unwrap().to_str().unwrap();
                assert!(find(file).is_some(), "{path}: {file}");
            }
        }
    }

    /// Returns the texts between a start and the next end.
    fn named<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
        text.split(start).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0))
    }
}
