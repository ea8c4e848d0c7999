//! N17: the session layer is documented, field by field (rules, section 6.2.1).

use crate::{
    drafting::sources::{PROTOCOL, wire_protocol},
    subject::{Findings, Subject, SubmissionTree, list_first},
    tree::documents,
};
use wire_contract::{FieldKey, contract, described};

mod wire_contract;

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
