//! Checks that the sources of a program are complete: they contain each file that a manifest, a
//! Rust file or a `.proto` file among them names (N16).

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::{facts::markdown_links::resolved, sources_digest::SourceFile};

/// Lists the files that the build needs and the sources lack: one message per file, with the source
/// file that names it.
pub fn missing_sources(sources: &[SourceFile<'_>]) -> Vec<String> {
    let there = SourcePaths(sources.iter().map(|(path, _)| *path).collect());
    let mut missing = BTreeSet::new();
    for path in ["Cargo.toml", "Cargo.lock"].into_iter().filter(|path| !there.has(path)) {
        missing.insert(format!("{path} is missing: without it the sources cannot be built"));
    }
    for (path, bytes) in sources {
        let text = String::from_utf8_lossy(bytes);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut named = BTreeSet::new();
        match name.rsplit_once('.') {
            Some(("Cargo", "toml")) => match toml::from_str(&text) {
                Ok(manifest) => of_manifest(&manifest, &mut named),
                Err(_) => drop(missing.insert(format!("{path} is not valid TOML"))),
            },
            Some((stem, "rs")) => of_rust(&text, stem, &mut named),
            Some((_, "proto")) => {
                named.extend(
                    quoted(&text, "import \"")
                        .map(|file| vec![file.to_owned(), import_path(folder, file)]),
                );
            }
            _ => {}
        }
        let is_there = |paths: &Vec<String>| {
            paths.iter().any(|path| resolved(folder, path).is_some_and(|path| there.has(&path)))
        };
        for paths in named.iter().filter(|paths| !is_there(paths)) {
            missing.insert(format!("{path} names {}, which is not among the sources", paths[0]));
        }
    }
    missing.into_iter().collect()
}

/// Paths of all source files, relative to the top folder of the sources.
struct SourcePaths<'a>(BTreeSet<&'a str>);

impl SourcePaths<'_> {
    /// Returns true if `path` is a source file, or a folder that contains one.
    fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        self.0.contains(path)
            || self.0.range(inside.as_str()..).next().is_some_and(|next| next.starts_with(&inside))
    }
}

/// Returns the path of an import relative to `folder`, the folder of the `.proto` file. Imports
/// start at a folder above it: the path has `../` once for each `/` in the import.
fn import_path(folder: &str, import: &str) -> String {
    let depth = import.matches('/').count().min(folder.split('/').count());
    "../".repeat(depth) + import
}

/// Files that a source file names. Each entry has the alternative paths of one file, relative to
/// the folder of the source file; the sources must contain at least one of them.
type NamedPaths = BTreeSet<Vec<String>>;

fn of_manifest(manifest: &Table, named: &mut NamedPaths) {
    let workspace = manifest.get("workspace").and_then(Value::as_table);
    for key in ["members", "default-members"] {
        let members = workspace.and_then(|workspace| workspace.get(key)?.as_array());
        let members = members.into_iter().flatten().filter_map(Value::as_str);
        // The folders that match a pattern are unknown.
        let members = members.filter(|member| !member.contains(['*', '?', '[']));
        named.extend(members.map(|member| vec![format!("{member}/Cargo.toml")]));
    }
    let Some(package) = manifest.get("package").and_then(Value::as_table) else {
        return of_tables(manifest, named);
    };
    for key in ["build", "readme", "license-file"] {
        let file = package.get(key).and_then(Value::as_str);
        named.extend(file.map(|file| vec![file.to_owned()]));
    }
    of_tables(manifest, named);
    if ["lib", "bin", "test", "bench", "example"].iter().all(|kind| !manifest.contains_key(*kind)) {
        named.insert(["src/lib.rs", "src/main.rs", "src/bin"].map(String::from).to_vec());
    }
}

/// Adds the files that the `path` keys of dependencies and targets name, in tables at any depth.
fn of_tables(table: &Table, named: &mut NamedPaths) {
    for (key, value) in table {
        let tables: Vec<&Table> = match value {
            Value::Table(table) => vec![table],
            Value::Array(values) => values.iter().filter_map(Value::as_table).collect(),
            _ => Vec::new(),
        };
        if let Some(path) = value.as_str().filter(|_| key == "path") {
            // A target's path is a file, a dependency's path is a folder.
            let file =
                if path.ends_with(".rs") { path.to_owned() } else { format!("{path}/Cargo.toml") };
            named.insert(vec![file]);
        }
        for table in tables {
            of_tables(table, named);
        }
    }
}

/// Adds the files that a Rust file names: its modules, the files that it includes, and, for a build
/// script, the files that it watches. `stem` is the name of the Rust file without `.rs`.
fn of_rust(text: &str, stem: &str, named: &mut NamedPaths) {
    let mut path = None;
    for line in code(text) {
        for mark in ["include_str!(\"", "include_bytes!(\"", "include!(\""] {
            named.extend(quoted(line, mark).map(|file| vec![file.to_owned()]));
        }
        if stem == "build" {
            let watched = quoted(line, "rerun-if-changed=").filter(|file| !file.contains('{'));
            let protos = quoted(line, "\"").filter(|file| file.ends_with(".proto"));
            named.extend(watched.chain(protos).map(|file| vec![file.to_owned()]));
        }
        // An indented module is inside another module; its path is unknown.
        if line.starts_with(char::is_whitespace) {
            continue;
        }
        let declared = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "));
        let module =
            declared.unwrap_or(line).strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        if let Some(module) = module {
            let file = path.take().map(|path: &str| vec![path.to_owned()]);
            named.insert(file.unwrap_or_else(|| {
                let beside = [format!("{module}.rs"), format!("{module}/mod.rs")];
                let below = beside.clone().map(|path| format!("{stem}/{path}"));
                [beside, below].concat()
            }));
        }
        // Other attributes may be between the path and the module.
        match quoted(line, "#[path = \"").next() {
            None if line.starts_with("#[") => {}
            named => path = named,
        }
    }
}

/// Returns the lines of a Rust file that are code: no lines of comments, and no raw strings of
/// several lines.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let mut end = None;
    text.lines().map(str::trim_end).filter(move |line| {
        if let Some(mark) = end {
            end = end.filter(|_| !line.contains(mark));
            return false;
        }
        let is_comment = line.trim_start().starts_with("/*");
        let opened = if is_comment { ("/*", "*/") } else { ("r#\"", "\"#") };
        let last = line.rsplit_once(opened.0).filter(|(_, rest)| !rest.contains(opened.1));
        end = last.map(|_| opened.1);
        !is_comment && !line.trim_start().starts_with("//")
    })
}

/// Returns the text between each `mark` and the next quotation mark or the end of the line.
fn quoted<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(mark).skip(1).filter_map(|rest| rest.split(['"', '\n']).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [SourceFile<'_>; 9] = [
        ("Cargo.toml", b"[workspace]\nmembers = [\"a\", \"b\"]\n[workspace.dependencies]\na = { path = \"a\" }\n"),
        ("Cargo.lock", b"version = 4"),
        ("a/Cargo.toml", b"[package]\nname = \"a\"\nbuild = \"build.rs\"\n"),
        ("a/build.rs", b"const P: [&str; 1] = [\"v1/a.proto\"]; const R: &str = \"rerun-if-changed=v1\";\n"),
        ("a/v1/a.proto", b"import \"v1/b.proto\";\n"),
        ("a/v1/b.proto", b""),
        ("a/src/lib.rs", b"pub mod inner;\n#[path = \"other/x.rs\"]\nmod x;\n"),
        ("a/src/inner/mod.rs", b"const T: &str = include_str!(\"../../v1/b.proto\");\n"),
        ("b/Cargo.toml", b"[package]\nname = \"b\"\n[[bin]]\npath = \"src/b.rs\"\n"),
    ];
    const REST: [SourceFile<'_>; 2] = [("b/src/b.rs", b"fn main() {}"), ("a/src/other/x.rs", b"")];

    #[test]
    fn a_name_ends_with_its_line() {
        let names: Vec<_> = quoted("m=a\nb\nm=c\"d\nm=", "m=").collect();
        assert_eq!(names, ["a", "c", ""]);
    }

    #[test]
    fn what_names_no_file_is_let_be() {
        let rust = "mod a {\n    mod x;\n}\n/*\nmod x;\n*/\n// include_str!(\"x\")\nconst R: &str = r#\"\nmod x;\n\"#;\n";
        let all: [SourceFile<'_>; 5] = [
            ("Cargo.toml", b"[workspace]\nmembers = [\"crates/*\"]\n"),
            ("Cargo.lock", b""),
            ("crates/a/Cargo.toml", b"[package]\nname = \"a\"\n[[test]]\npath = \"a.rs\"\n"),
            ("crates/a/a.rs", rust.as_bytes()),
            ("crates/b/Cargo.toml", b"[package]\nname = \"b\"\n[[example]]\nname = \"b\"\n"),
        ];
        assert_eq!(missing_sources(&all), [""; 0]);
        let named = [rust, "mod y;\n"].concat();
        let less = [&all[..3], &[("crates/a/a.rs", named.as_bytes()), all[4]]].concat();
        assert_eq!(missing_sources(&less).len(), 1);
    }

    #[test]
    fn each_file_is_missed_that_another_names() {
        let all = [&WHOLE[..], &REST].concat();
        assert_eq!(missing_sources(&all), [""; 0]);
        for place in 0..all.len() {
            let mut less = all.clone();
            let (gone, _) = less.remove(place);
            let missing = missing_sources(&less);
            assert!(!missing.is_empty(), "{gone}");
        }
    }
}
