//! Limit of the tokens in flight. Outputs count as well as prompts, because they need memory at the
//! node and in the engine too.

use netdiv_contract::tokens;
use serde::Serialize;

/// Limit of the tokens in flight. A sample counts as the tokens of its prompt, plus the longest
/// possible output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TokenRoom {
    /// Maximum number of tokens in flight.
    pub max_tokens: u32,
    /// Maximum number of tokens of an output, from the engine's settings; less than `max_tokens`.
    #[serde(skip)]
    pub longest_output: u32,
}

impl TokenRoom {
    /// Returns the cost in tokens of a sample that has `bytes` bytes once decoded.
    pub(crate) fn cost(self, bytes: u64) -> u64 {
        tokens::cost(bytes, self.longest_output)
    }

    /// Returns the maximum number of tokens of a prompt. A prompt of this length is admitted only
    /// while no other sample is in flight.
    pub(crate) fn longest_input(self) -> u32 {
        self.max_tokens - self.longest_output
    }

    /// Returns the reason why a sample that has `bytes` bytes once decoded can never be admitted;
    /// `None` if it can.
    pub(crate) fn refusal(self, bytes: u64) -> Option<String> {
        let Self { max_tokens, longest_output } = self;
        let tokens = self.cost(bytes);
        (tokens > u64::from(max_tokens)).then(|| {
            let own = tokens - u64::from(longest_output);
            format!(
                "a prompt of length {own} with an output of up to {longest_output} is longer than the node admits; \
                 raise --max-in-flight-tokens from {max_tokens} to {tokens}"
            )
        })
    }
}
