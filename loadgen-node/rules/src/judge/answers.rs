//! Of N33: LoadGen has a time for each further token of every answer, and logs an error where it has none (rules, section 5.1).

use crate::result::Node;

/// What is wrong with answers of one token, where LoadGen counts tokens.
pub(crate) fn one_token(nodes: &[Node]) -> Option<String> {
    let ones = nodes.iter().filter_map(|node| Some(node.tokens.as_ref()?.one_token_answers));
    let ones = ones.fold(0, u64::saturating_add);
    (ones > 0).then(|| {
        format!(
            "{ones} answers have one token: LoadGen has no time for a further one and logs an error. Let the engine give two tokens \
             at least (min_tokens), and run again"
        )
    })
}
