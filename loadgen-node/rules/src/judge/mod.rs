//! Judgements shared by rules, and by generated documents.

pub(crate) mod bandwidth;
mod distinct;
pub(crate) mod engines;
pub(crate) mod limits;
pub(crate) mod machines;
pub(crate) mod samples;
pub(crate) mod suite;

use crate::record::Node;

/// Returns a text if the nodes' token counts contain answers of only one token (N33).
pub(crate) fn check_one_token_answers(nodes: &[Node]) -> Option<String> {
    let ones = nodes.iter().filter_map(|node| Some(node.tokens.as_ref()?.one_token_answers));
    let ones = ones.fold(0, u64::saturating_add);
    (ones > 0).then(|| {
        format!(
            "{ones} answers have one token: LoadGen has no time for a further one and logs an error. Let the engine return at least two \
             tokens (min_tokens), and run again"
        )
    })
}
