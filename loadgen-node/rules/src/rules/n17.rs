//! N17: the session layer is documented, field by field (rules, section 6.2.1).

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    drafting::sources::{PROTOCOL, wire_protocol},
    subject::{Findings, Subject, SubmissionTree, list_first},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "the description of the wire";
    let Some(tree) = found.own_tree(subject, text) else { return };
    let mut at = found.at(tree.home.document(documents::PROTOCOL));
    let Some(text) = tree.document(documents::PROTOCOL) else {
        return at.fail("is missing or empty: describe field by field what is sent for a query");
    };
    let described = described(&text);
    let (mut missing, mut surplus) = (Vec::new(), Vec::new());
    for (message, fields) in contract() {
        let named = |(number, name, kind): &FieldKey| format!("{message} {number} `{name}` {kind}");
        let shown = described.get(&message).cloned().unwrap_or_default();
        missing.extend(fields.difference(&shown).map(named));
        surplus.extend(shown.difference(&fields).map(named));
    }
    if !missing.is_empty() {
        at.fail(format!("has no row for {}", list_first(&missing)));
    }
    if !surplus.is_empty() {
        at.fail(format!("has rows for fields that no message has: {}", list_first(&surplus)));
    }
    // The text around the tables is compared only if all rows agree.
    if at.is_kept() {
        at.fail_each(unlike_sources(tree, &text));
    }
    at.or_pass("describes every field of every message, as the sources do");
}

/// Returns the first difference between `text`, the submission's document, and the one that
/// `submission` makes of docs/PROTOCOL.md in its sources.
fn unlike_sources(tree: &SubmissionTree, text: &str) -> Option<String> {
    let path = format!("{}/{PROTOCOL}", tree.home.sources());
    let source = wire_protocol(&tree.text(&path)?, &tree.home);
    if source == text {
        return None;
    }
    let alike = source.lines().zip(text.lines()).take_while(|(one, other)| one == other).count();
    Some(format!("differs from {path} from line {} on: use that text", alike + 1))
}

/// Number, name and type of a field.
type FieldKey = (String, String, String);

type Messages = BTreeMap<String, BTreeSet<FieldKey>>;

const PROTOS: [&str; 2] = [
    include_str!("../../../../proto/contract/netdiv/v1/sut_node.proto"),
    include_str!("../../../../proto/contract/netdiv/v1/quic.proto"),
];

/// Returns the messages of the `.proto` files that a document must describe. A field whose type is
/// a message or an enum has the type `message` or `enum`.
fn contract() -> Messages {
    let names = |kind: &str| -> BTreeSet<&str> {
        let lines = PROTOS.iter().flat_map(|proto| proto.lines());
        lines.filter_map(|line| line.strip_prefix(kind)?.split_whitespace().next()).collect()
    };
    let (messages, enums) = (names("message "), names("enum "));
    let kind = |word: &str| match word {
        _ if enums.contains(word) => "enum".to_owned(),
        _ if messages.contains(word) || word == "Machine" => "message".to_owned(),
        word => word.to_owned(),
    };
    let field = |line: &str| -> Option<FieldKey> {
        let (left, number) = line.split(';').next()?.split_once(" = ")?;
        let words: Vec<_> = left.split_whitespace().collect();
        let (word, name) = match words.as_slice() {
            ["repeated", word, name] => (kind(word) + " list", name),
            ["optional", word, name] | [word, name] => (kind(word), name),
            _ => return None,
        };
        Some((number.trim().to_owned(), (*name).to_owned(), word))
    };
    let bodies = PROTOS.iter().flat_map(|proto| proto.split("\nmessage ").skip(1));
    let sent = bodies.filter_map(|body| {
        let (name, rest) = body.split_once(" {")?;
        let (body, _) = rest.split_once("\n}")?;
        Some((name.to_owned(), body.lines().map(str::trim).filter_map(field).collect()))
    });
    // These messages are nested in others and described there.
    sent.filter(|(name, _)| !["TensorSpec", "InputLayout", "DigestCount"].contains(&&name[..]))
        .collect()
}

/// Returns the messages that a document describes in tables. The heading above a table, or the
/// first line of the table, names the message. A row has the number and the name of a field in its
/// first cell, and the type in its second.
fn described(text: &str) -> Messages {
    let mut messages = Messages::new();
    let mut current = String::new();
    for line in text.lines() {
        let named = line.split('`').nth(1).unwrap_or_default();
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let number = cells[0].split_whitespace().next().unwrap_or_default();
        if line.starts_with('#') || (line.starts_with("| field") && !named.is_empty()) {
            current = named.to_owned();
        } else if line.starts_with('|') && number.parse::<u32>().is_ok() && !named.is_empty() {
            let field = (number.into(), named.into(), (*cells.get(1).unwrap_or(&"")).into());
            messages.entry(current.clone()).or_default().insert(field);
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_describes_the_contract() {
        let contract = contract();
        let id = ("1", "id", "fixed64");
        let id = (id.0.to_owned(), id.1.to_owned(), id.2.to_owned());
        assert!(contract["InferRequest"].contains(&id));
        assert_eq!(contract["InferResponse"].len(), 15);
        let described = described(include_str!("../../../../docs/PROTOCOL.md"));
        for (message, fields) in contract {
            assert_eq!(described.get(&message), Some(&fields), "{message}");
        }
    }
}
