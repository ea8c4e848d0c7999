//! What nodes answered.

use bytes::Bytes;
use netdiv_contract::tokens;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Elements of an answer that are shown.
const SHOWN: usize = 8;

/// What the nodes answered to one sample.
#[derive(Debug, Serialize)]
pub(crate) struct Findings {
    /// The data set, and the tensors of a sample where it has any.
    pub(crate) dataset: String,
    pub(crate) holds: Option<String>,
    /// Which sample was sent, and its bytes as they were encoded.
    pub(crate) sample: usize,
    pub(crate) sample_bytes: usize,
    /// Every node, in the order of the settings.
    pub(crate) nodes: Vec<Probed>,
    /// Whether all nodes gave the same answer.
    pub(crate) alike: bool,
}

/// A node, and what became of its sample.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Probed {
    pub(crate) address: String,
    /// What it says of itself; nothing where it said nothing.
    pub(crate) node: Option<String>,
    pub(crate) engine: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) model_sha256: Option<String>,
    /// The tensors that it takes.
    pub(crate) takes: Option<String>,
    /// The same sample, first and again.
    pub(crate) answers: Vec<Answered>,
    /// Whether its answer is not that of most nodes.
    pub(crate) differs: bool,
    /// Why there is no answer, or none that counts.
    pub(crate) failure: Option<String>,
    /// Whether the node was not there, or went.
    pub(crate) lost: bool,
}

/// An answer.
#[derive(Debug, Serialize)]
pub(crate) struct Answered {
    pub(crate) latency_ns: u64,
    /// Until the first token, where the answer is made of tokens.
    pub(crate) first_token_ns: Option<u64>,
    pub(crate) bytes: usize,
    pub(crate) sha256: String,
    /// What it begins with: a label (4 bytes), ids of tokens, or bytes in hex.
    pub(crate) beginning: String,
}

impl Answered {
    /// An answer as it arrived.
    pub(crate) fn new(
        payload: &Bytes,
        is_tokens: bool,
        latency_ns: u64,
        first_token_ns: Option<u64>,
    ) -> Self {
        Self {
            latency_ns,
            first_token_ns,
            bytes: payload.len(),
            sha256: hex::encode(Sha256::digest(payload)),
            beginning: beginning(payload, is_tokens),
        }
    }
}

fn beginning(payload: &[u8], is_tokens: bool) -> String {
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

impl Probed {
    /// A node that gave no answer.
    pub(crate) fn failed(mut self, why: impl std::fmt::Display, lost: bool) -> Self {
        self.failure = Some(why.to_string());
        self.lost = lost;
        self
    }

    fn answer(&self) -> Option<&str> {
        let first = self.answers.first().filter(|_| self.failure.is_none())?;
        Some(&first.sha256)
    }
}

impl Findings {
    /// Compares the answers, each with that of most nodes.
    pub(crate) fn compare(&mut self) {
        let answers: Vec<_> = self.nodes.iter().filter_map(Probed::answer).collect();
        let votes = |answer: &str| answers.iter().filter(|other| **other == answer).count();
        // The last greatest is taken; of several the first node's.
        let Some(most) = answers.iter().rev().max_by_key(|answer| votes(answer)) else { return };
        let most = (*most).to_owned();
        for node in &mut self.nodes {
            node.differs = node.answer().is_some_and(|answer| answer != most);
        }
        self.alike = self.nodes.iter().all(|node| node.failure.is_none() && !node.differs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(answers: &[Option<&'static [u8]>]) -> Vec<bool> {
        let node = |answer: &Option<&'static [u8]>| match answer {
            None => Probed::default().failed("it is gone", true),
            Some(answer) => Probed {
                answers: vec![Answered::new(&Bytes::from_static(answer), false, 1, None)],
                ..Probed::default()
            },
        };
        let (dataset, holds, nodes) = (String::new(), None, answers.iter().map(node).collect());
        let mut all = Findings { dataset, holds, sample: 0, sample_bytes: 0, nodes, alike: false };
        all.compare();
        let differ: Vec<_> = all.nodes.iter().map(|node| node.differs).collect();
        let good = all.nodes.iter().all(|node| node.failure.is_none());
        assert_eq!(all.alike, good && !differ.contains(&true) && !differ.is_empty());
        differ
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
            assert_eq!(beginning(payload, is_tokens), want);
        }
    }
}
