//! How many tokens a node takes in: outputs need memory too, at the node and in the engine.

use netdiv_contract::tokens;
use serde::Serialize;

/// The node's room in tokens. A sample counts with its own tokens and the longest output that it may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TokenRoom {
    /// Tokens taken in at most.
    pub most: u32,
    /// Tokens of the longest output; less than `most`. The engine's settings tell it.
    #[serde(skip)]
    pub longest_output: u32,
}

impl TokenRoom {
    /// What a sample of so many bytes, decoded, counts.
    pub(crate) fn cost(self, bytes: u64) -> u64 {
        tokens::cost(bytes, self.longest_output)
    }

    /// Tokens of the longest sample that can be taken in, alone.
    pub(crate) fn longest_input(self) -> u32 {
        self.most - self.longest_output
    }

    /// Why there is never room for such a sample.
    pub(crate) fn refusal(self, bytes: u64) -> Option<String> {
        let Self { most, longest_output } = self;
        let tokens = self.cost(bytes);
        (tokens > u64::from(most)).then(|| {
            let own = tokens - u64::from(longest_output);
            format!(
                "the prompt has {own} tokens, which with an output of up to {longest_output} is more than the node takes in; \
                 raise --max-in-flight-tokens from {most} to {tokens}"
            )
        })
    }
}
