//! N17: the session layer is documented, field by field (rules, section 6.2.1).

use std::collections::BTreeSet;

use super::{checked_folder::Subject, findings::Findings};
use crate::{Rule::N17, tree::documents};

/// The fields of the messages that carry samples and responses, as the wire contract has them; a test compares them with it.
const MESSAGES: [(&str, &[&str]); 2] = [
    ("InferRequest", &["id", "encoding", "decoded_bytes", "crc32c", "payload"]),
    (
        "InferResponse",
        &[
            "id",
            "status",
            "error",
            "encoding",
            "decoded_bytes",
            "queue_ns",
            "prepare_ns",
            "compute_ns",
            "batch_size",
            "crc32c",
            "part",
            "token_count",
            "first_token_ns",
            "payload",
        ],
    ),
];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "the description of the wire is in a submission's documentation";
    let Some(tree) = found.tree(subject, [N17], text) else { return };
    let mut at = found.at(N17, tree.home.document(documents::PROTOCOL));
    let Some(text) = tree.document(documents::PROTOCOL) else {
        return at.fail("is missing or empty: say field by field what is sent for a query");
    };
    let words: BTreeSet<_> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for (message, fields) in MESSAGES {
        let names = std::iter::once(&message).chain(fields);
        let missing: Vec<_> = names.filter(|name| !words.contains(*name)).copied().collect();
        if !missing.is_empty() {
            at.fail(format!("does not name {} of {message}", missing.join(", ")));
        }
    }
    at.or_pass("names every field of the messages that carry samples and responses");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_those_of_the_wire_contract() {
        let proto = include_str!("../../../../proto/contract/netdiv/v1/sut_node.proto");
        for (message, fields) in MESSAGES {
            let (_, body) = proto.split_once(&format!("message {message} {{")).unwrap();
            let (body, _) = body.split_once('}').unwrap();
            let lines = body.lines().filter(|line| line.contains(" = "));
            let name = |line: &'static str| line.split(" = ").next()?.split_whitespace().last();
            let names: Vec<_> = lines.filter_map(name).collect();
            assert_eq!(names, fields);
        }
    }
}
