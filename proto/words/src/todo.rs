//! Placeholders: `loadgen-node init` writes one for each value that no table has, under a comment that says what to write.

use std::fmt;

/// Beginning of a placeholder.
pub const TODO: &str = "TODO";

const QUOTES: [char; 2] = ['"', '\''];

/// A placeholder in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// The line, from 1.
    pub line: usize,
    /// The key that it is the value of.
    pub key: String,
    /// The comment before the key.
    comment: String,
}

impl fmt::Display for Todo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, comment } = self;
        write!(f, "line {line}: {key} is still {TODO}: write it")?;
        if comment.is_empty() { Ok(()) } else { write!(f, ". {comment}") }
    }
}

/// Returns true if a value is a placeholder.
pub fn is_todo(value: &str) -> bool {
    value.strip_prefix(TODO).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns all placeholders in the text of a TOML file.
pub fn todos(text: &str) -> Vec<Todo> {
    let mut todos = Vec::new();
    let (mut key, mut comment) = (String::new(), String::new());
    // In a text of several lines, of which the first follows.
    let (mut is_in_text, mut is_first) = (false, false);
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        let (was_in_text, was_first) = (is_in_text, is_first);
        is_in_text ^= ["\"\"\"", "'''"].iter().any(|quotes| line.matches(quotes).count() % 2 == 1);
        is_first = !was_in_text && is_in_text && line.ends_with(QUOTES);
        if was_in_text {
            if was_first && is_todo(line) {
                todos.push(Todo { line: number, key: key.clone(), comment: String::new() });
            }
            continue;
        }
        if let Some(words) = line.strip_prefix("# ") {
            comment = format!("{comment} {words}").trim_start().into();
            continue;
        }
        if let Some((name, _)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            key = name.trim().trim_matches(QUOTES).into();
        }
        let comment = std::mem::take(&mut comment);
        if !line.starts_with('#') && has_placeholder(line) {
            todos.push(Todo { line: number, key: key.clone(), comment });
        }
    }
    todos
}

/// Returns true if a value on the line begins with a placeholder.
fn has_placeholder(line: &str) -> bool {
    line.match_indices(TODO).any(|(start, _)| {
        let (before, value) = line.split_at(start);
        let opening = before.trim_end_matches(QUOTES);
        let is_quoted = opening.len() < before.len();
        let opening = opening.trim_end();
        let is_value = opening.ends_with('=')
            || is_quoted && (opening.is_empty() || opening.ends_with(['[', ',']));
        is_value && is_todo(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_with_line_key_and_comment() {
        let text = "# About the file.\n\n# Samples, a .npy file:\n# write its path.\ndataset = \"TODO-dataset.npy\"\n\
                    # A suggestion.\n#labels = \"TODO\"\nvocabulary = TODO\nnodes = [\n  'a', # TODO\n  'TODO',\n]\n\
                    link = { from = 'a', to = 'TODO' }\nsetting = [\"target=TODO\"]\n\
                    text = \"\"\"TODO\nTODO = 'TODO'\n\"\"\"\nlast = '''\nTODO: say how\nTODO\n'''\n";
        let found = todos(text);
        let places: Vec<_> = found.iter().map(|todo| (todo.line, todo.key.as_str())).collect();
        let want = [
            (5, "dataset"),
            (8, "vocabulary"),
            (11, "nodes"),
            (13, "link"),
            (14, "setting"),
            (15, "text"),
            (19, "last"),
        ];
        assert_eq!(places, want);
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
            "a = 'Two nodes, TODO more'",
            "TODO = 1",
        ] {
            assert_eq!(todos(line), [], "{line}");
        }
    }
}
