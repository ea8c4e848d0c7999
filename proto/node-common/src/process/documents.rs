//! Pages of netdiv's documents. Messages name them as `docs/NAME.md`, their place in the sources.

use std::{borrow::Cow, env, path::Path, sync::LazyLock};

/// Folder of the pages in the sources.
const FOLDER: &str = "docs/";

/// Folder of the pages that are installed with this program, with a slash at its end. A program in
/// `PREFIX/bin` has its pages in `PREFIX/share/doc/netdiv/docs`.
static INSTALLED: LazyLock<Option<String>> = LazyLock::new(|| {
    let program = env::current_exe().ok()?;
    let folder = program.parent()?.join("../share/doc/netdiv/docs").canonicalize().ok()?;
    // The path has to fit into a text in JSON.
    folder.to_str().filter(|path| !path.contains(['"', '\\'])).map(|path| format!("{path}/"))
});

/// Returns the text with the full path of each page that it names, if the pages are installed.
pub fn with_page_paths(text: &str) -> Cow<'_, str> {
    INSTALLED.as_ref().map_or(text.into(), |folder| in_folder(text, folder).into())
}

fn in_folder(text: &str, folder: &str) -> String {
    let mut pieces = text.split(FOLDER);
    let mut placed = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        // Users have files in a folder of that name, too: text after a colon is an error of the file before it.
        let is_page = piece.split_once(".md").is_some_and(|(name, after)| {
            !after.starts_with(':') && Path::new(&format!("{folder}{name}.md")).is_file()
        });
        let is_inside = placed.ends_with(|c: char| c.is_alphanumeric() || "/._-\"".contains(c));
        placed += if is_page && !is_inside { folder } else { FOLDER };
        placed += piece;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_its_folder_and_no_other_path_does() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
        for (text, want) in [
            ("docs/ENGINES.md#token-ids", "@ENGINES.md#token-ids"),
            ("a (docs/RULES.md), docs/SUBMISSION.md", "a (@RULES.md), @SUBMISSION.md"),
            (r#"{"message":"read docs/RULES.md"}"#, r#"{"message":"read @RULES.md"}"#),
            ("acme/code/netdiv/docs/PROTOCOL.md", "acme/code/netdiv/docs/PROTOCOL.md"),
            ("my-docs/RULES.md, docs/notes.txt, docs/", "my-docs/RULES.md, docs/notes.txt, docs/"),
            (concat!("docs/", "MODEL.md is a folder"), concat!("docs/", "MODEL.md is a folder")),
            (
                concat!("docs/", "MODEL.md: cannot be read"),
                concat!("docs/", "MODEL.md: cannot be read"),
            ),
            ("docs/README.md: cannot be read", "docs/README.md: cannot be read"),
            (r#"{"path":"docs/README.md"}"#, r#"{"path":"docs/README.md"}"#),
            ("nothing", "nothing"),
        ] {
            assert_eq!(in_folder(text, folder), want.replace('@', folder));
        }
        assert_eq!(with_page_paths("docs/RULES.md"), "docs/RULES.md", "tests are not installed");
    }
}
