//! Placeholders: `loadgen-node init` writes one for each unknown value, with a comment that
//! describes the value.

use std::fmt;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Text with which every placeholder begins.
pub const TODO: &str = "TODO";

/// Placeholder in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// Line, from 1.
    pub line: usize,
    /// Key of the value, without the key of its table.
    pub key: String,
    /// Top-level key or table that contains the placeholder.
    pub top: String,
    /// Comment before the key.
    comment: String,
}

impl fmt::Display for Todo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, comment, .. } = self;
        write!(f, "line {line}: {key} is still {TODO}: write it")?;
        if comment.is_empty() { Ok(()) } else { write!(f, ". {comment}") }
    }
}

/// Returns true if a value is a placeholder.
pub fn is_todo(value: &str) -> bool {
    value.strip_prefix(TODO).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns all placeholders in the text of a TOML file, in the order of their lines. Returns an
/// empty list if the TOML is invalid.
pub fn todos(text: &str) -> Vec<Todo> {
    let mut todos = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        for (top, value) in table.get_ref() {
            let mut add = |key: &str, start: usize| {
                let before = text.get(..start).unwrap_or_default();
                let above: Vec<_> = before.split('\n').collect();
                let line = above.len();
                let comment = comment(&above[..line - 1]);
                todos.push(Todo { line, key: key.into(), top: top.get_ref().to_string(), comment });
            };
            walk(top.get_ref(), value, &mut add);
        }
    }
    todos.sort_by_key(|todo| todo.line);
    todos
}

/// Calls `add` for each placeholder in a value, with the placeholder's key and its position in the
/// text, in bytes.
fn walk(key: &str, value: &Spanned<DeValue<'_>>, add: &mut impl FnMut(&str, usize)) {
    match value.get_ref() {
        DeValue::String(text) => {
            // The value of a `--setting` may be a placeholder, too.
            let assigned = text.split_once('=').map(|(_, value)| value);
            if is_todo(text) || assigned.is_some_and(is_todo) {
                add(key, value.span().start);
            }
        }
        DeValue::Array(values) => values.iter().for_each(|value| walk(key, value, add)),
        DeValue::Table(values) => {
            values.iter().for_each(|(key, value)| walk(key.get_ref(), value, add));
        }
        _ => {}
    }
}

/// Returns the comment at the end of these lines, as one line.
fn comment(lines: &[&str]) -> String {
    let words = lines.iter().rev().map_while(|line| line.trim().strip_prefix("# "));
    let words: Vec<_> = words.collect();
    words.into_iter().rev().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_with_line_key_and_comment() {
        let text = "# About the file.\n\n# Samples, a .npy file:\n# write its path.\ndataset = \"TODO-dataset.npy\"\n\
                    # A suggestion, with \"\"\" in it.\n#labels = \"TODO\"\nvocabulary = 'TODO' # not ''' either\nnodes = [\n  'a', # TODO\n  'TODO',\n]\n\
                    link = { from = 'a', to = 'TODO' }\nsetting = [\"target=TODO\"]\n\
                    text = \"\"\"TODO\nTODO = 'TODO'\n\"\"\"\nlast = '''\nTODO: say how\nTODO\n'''\n\
                    [system]\n# A name.\nid = 'TODO'\n";
        let found = todos(text);
        let places: Vec<_> =
            found.iter().map(|todo| (todo.line, &todo.top[..], &todo.key[..])).collect();
        let want = [
            (5, "dataset", "dataset"),
            (8, "vocabulary", "vocabulary"),
            (11, "nodes", "nodes"),
            (13, "link", "to"),
            (14, "setting", "setting"),
            (15, "text", "text"),
            (18, "last", "last"),
            (24, "system", "id"),
        ];
        assert_eq!(places, want);
        assert_eq!(found[7].to_string(), "line 24: id is still TODO: write it. A name.");
        assert_eq!(
            found[0].to_string(),
            "line 5: dataset is still TODO: write it. Samples, a .npy file: write its path."
        );
        assert_eq!(found[1].to_string(), "line 8: vocabulary is still TODO: write it");
    }

    #[test]
    fn other_values_are_no_placeholders() {
        for line in [
            "a = 'todo.npy'",
            "a = 'TODOS.npy'",
            "a = './TODO/a.npy'",
            "a = 'x' # TODO",
            "# a = 'TODO'",
            "a = 'What is left TODO'",
            "# \"\"\"\na = 'TODOS'",
            "a = 'Two nodes, TODO more'",
            "TODO = 1",
            "a = TODO",
        ] {
            assert_eq!(todos(line), [], "{line}");
        }
    }
}
