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
            let mut add = |key: &str, value: &Spanned<DeValue<'_>>| {
                if !is_placeholder(value.get_ref()) {
                    return;
                }
                let before = text.get(..value.span().start).unwrap_or_default();
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

/// Fails if the text of a TOML file has a date or a time without quotes. No key accepts them, and
/// serde reports them as maps. Succeeds if the TOML is invalid.
pub fn refuse_dates(text: &str) -> Result<(), String> {
    let mut refused = Ok(());
    if let Ok(table) = DeTable::parse(text) {
        let mut refuse = |key: &str, value: &Spanned<DeValue<'_>>| {
            let DeValue::Datetime(date) = value.get_ref() else { return };
            let line = 1 + text.get(..value.span().start).unwrap_or_default().matches('\n').count();
            refused =
                Err(format!("line {line}: {key} is the date or time {date}; write \"{date}\""));
        };
        table.get_ref().iter().for_each(|(key, value)| walk(key.get_ref(), value, &mut refuse));
    }
    refused
}

/// Calls `visit` for each value that is neither an array nor a table, with its key.
fn walk(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    visit: &mut impl FnMut(&str, &Spanned<DeValue<'_>>),
) {
    match value.get_ref() {
        DeValue::Array(values) => values.iter().for_each(|value| walk(key, value, visit)),
        DeValue::Table(values) => {
            values.iter().for_each(|(key, value)| walk(key.get_ref(), value, visit));
        }
        _ => visit(key, value),
    }
}

fn is_placeholder(value: &DeValue<'_>) -> bool {
    let DeValue::String(text) = value else { return false };
    // The value of a `--setting` may be a placeholder, too.
    let assigned = text.split_once('=').map(|(_, value)| value);
    is_todo(text) || assigned.is_some_and(is_todo)
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
    fn dates_without_quotes_are_refused() {
        for (text, want) in [
            ("a = '2024-01-01'\nb = 1", Ok(())),
            (
                "a = 2024-01-01",
                Err("line 1: a is the date or time 2024-01-01; write \"2024-01-01\""),
            ),
            (
                "[t]\na = [{ b = 07:32:00 }]",
                Err("line 2: b is the date or time 07:32:00; write \"07:32:00\""),
            ),
            ("a = 2024-13-01", Ok(())),
        ] {
            assert_eq!(refuse_dates(text), want.map_err(str::to_owned), "{text}");
        }
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
