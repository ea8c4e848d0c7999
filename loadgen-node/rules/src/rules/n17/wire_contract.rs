//! The messages of the wire contract, field by field, as the `.proto` files have them and as a
//! document describes them.

use std::collections::{BTreeMap, BTreeSet};

/// Number, name and type of a field.
pub(super) type FieldKey = (String, String, String);

pub(super) type Messages = BTreeMap<String, BTreeSet<FieldKey>>;

const PROTOS: [&str; 2] = [
    include_str!("../../../../../proto/contract/netdiv/v1/sut_node.proto"),
    include_str!("../../../../../proto/contract/netdiv/v1/quic.proto"),
];

/// Returns the messages of the `.proto` files that a document must describe. A field whose type is
/// a message or an enum has the type `message` or `enum`.
pub(super) fn contract() -> Messages {
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
pub(super) fn described(text: &str) -> Messages {
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
        let described = described(include_str!("../../../../../docs/PROTOCOL.md"));
        for (message, fields) in contract {
            assert_eq!(described.get(&message), Some(&fields), "{message}");
        }
    }
}
