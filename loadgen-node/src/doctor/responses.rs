//! Responses to a sample, and the comparison of nodes by them.

use bytes::Bytes;
use netdiv_contract::tokens;
use netdiv_machine::doctor::{AskedNode, SampleAnswer};
use sha2::{Digest as _, Sha256};

/// Number of elements of a response that are shown.
const SHOWN: usize = 8;

/// Describes a response: its latency, length, digest and first elements. The elements are token ids
/// if `is_tokens`; otherwise 4 bytes are a label, and any other number are bytes.
pub(super) fn describe_response(
    payload: &Bytes,
    is_tokens: bool,
    latency_ns: u64,
    first_token_ns: Option<u64>,
) -> SampleAnswer {
    SampleAnswer {
        latency_ns,
        first_token_ns,
        bytes: payload.len(),
        sha256: hex::encode(Sha256::digest(payload)),
        beginning: describe_payload(payload, is_tokens),
    }
}

fn describe_payload(payload: &[u8], is_tokens: bool) -> String {
    let (kind, mut shown, all) = match <[u8; 4]>::try_from(payload) {
        Ok(label) if !is_tokens => return format!("label {}", i32::from_le_bytes(label)),
        _ if is_tokens => {
            let ids = tokens::ids(payload);
            let count = ids.len();
            ("tokens", ids.take(SHOWN).map(|id| id.to_string()).collect::<Vec<_>>(), count)
        }
        _ => {
            let bytes = payload.iter().take(SHOWN).map(|byte| format!("{byte:02x}"));
            ("bytes", bytes.collect(), payload.len())
        }
    };
    if shown.len() < all {
        shown.push("…".into());
    }
    if shown.is_empty() { format!("no {kind}") } else { format!("{kind} {}", shown.join(" ")) }
}

/// Marks the nodes whose response differs from the most frequent one. If two responses are equally
/// frequent, the response of the first node counts. Sampled responses are left out.
pub(super) fn mark_different(nodes: &mut [AskedNode]) {
    let answers: Vec<_> = nodes.iter().filter_map(sha256).collect();
    let votes = |answer: &str| answers.iter().filter(|other| **other == answer).count();
    // `max_by_key` returns the last maximum; in reverse order it belongs to the first node.
    let Some(most) = answers.iter().rev().max_by_key(|answer| votes(answer)) else { return };
    let most = (*most).to_owned();
    for node in nodes {
        node.differs = sha256(node).is_some_and(|answer| answer != most);
    }
}

fn sha256(node: &AskedNode) -> Option<&str> {
    let first = node.answers.first().filter(|_| node.failure.is_none() && !node.sampled)?;
    Some(&first.sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(answers: &[Option<&'static [u8]>]) -> Vec<bool> {
        let node = |payload: &Option<&'static [u8]>| match payload {
            None => AskedNode::default().failed("it is gone", true),
            Some(payload) => AskedNode {
                answers: vec![describe_response(&Bytes::from_static(payload), false, 1, None)],
                ..AskedNode::default()
            },
        };
        let mut nodes: Vec<_> = answers.iter().map(node).collect();
        mark_different(&mut nodes);
        nodes.iter().map(|node| node.differs).collect()
    }

    #[test]
    fn the_answer_of_most_nodes_counts_and_of_two_the_first() {
        let (a, b) = (Some(&b"a"[..]), Some(&b"b"[..]));
        assert_eq!(findings(&[a, a, b]), [false, false, true]);
        assert_eq!(findings(&[b, a, a]), [true, false, false]);
        assert_eq!(findings(&[a, b]), [false, true]);
        assert_eq!(findings(&[b, None, b]), [false, false, false]);
        assert_eq!(findings(&[None, None]), [false, false]);
        assert_eq!(findings(&[a]), [false]);
    }

    #[test]
    fn sampled_answers_neither_count_nor_differ() {
        let node = |payload: &'static [u8], sampled| AskedNode {
            answers: vec![describe_response(&Bytes::from_static(payload), true, 1, None)],
            sampled,
            ..AskedNode::default()
        };
        let mut nodes = [node(b"a", true), node(b"b", true), node(b"c", false), node(b"c", false)];
        mark_different(&mut nodes);
        assert!(nodes.iter().all(|node| !node.differs), "{nodes:?}");
    }

    #[test]
    fn an_answer_begins_with_what_it_means() {
        for (payload, is_tokens, want) in [
            (&[7, 0, 0, 0][..], false, "label 7"),
            (&[255; 4], false, "label -1"),
            (&[7, 0, 0, 0], true, "tokens 7"),
            (&[], true, "no tokens"),
            (&[], false, "no bytes"),
            (&[1, 0, 0, 0, 2, 0, 0, 0], true, "tokens 1 2"),
            (&[0x0a, 0xff], false, "bytes 0a ff"),
            (&[0; 9], false, "bytes 00 00 00 00 00 00 00 00 …"),
        ] {
            assert_eq!(describe_payload(payload, is_tokens), want);
        }
    }
}
