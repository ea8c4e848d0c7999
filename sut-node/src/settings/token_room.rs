//! Room of a node in tokens: outputs need memory too, at the node and in the engine.

use netdiv_contract::tokens;
use serde::Serialize;

/// Room of the node in tokens. A sample counts with its own tokens and its longest output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TokenRoom {
    /// Maximum number of tokens in flight.
    pub max_tokens: u32,
    /// Maximum number of tokens of an output, from the engine's settings; less than `most`.
    #[serde(skip)]
    pub longest_output: u32,
}

impl TokenRoom {
    /// Returns the cost of a sample of `bytes` bytes, decoded.
    pub(crate) fn cost(self, bytes: u64) -> u64 {
        tokens::cost(bytes, self.longest_output)
    }

    /// Returns the maximum number of tokens of a prompt, which is then admitted alone.
    pub(crate) fn longest_input(self) -> u32 {
        self.max_tokens - self.longest_output
    }

    /// Returns the reason why there is never room for a sample of `bytes` bytes; `None` if there
    /// is.
    pub(crate) fn refusal(self, bytes: u64) -> Option<String> {
        let Self { max_tokens: most, longest_output } = self;
        let tokens = self.cost(bytes);
        (tokens > u64::from(most)).then(|| {
            let own = tokens - u64::from(longest_output);
            format!(
                "the prompt has {own} tokens, which with an output of up to {longest_output} is more than the node admits; \
                 raise --max-in-flight-tokens from {most} to {tokens}"
            )
        })
    }
}
