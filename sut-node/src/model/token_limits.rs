//! Limits of the prompts that a language model accepts.

use bytes::Bytes;
use netdiv_contract::{
    layout::{DataType, Tensor},
    tokens::ID_BYTES,
};

use crate::model::workload::integers;

/// Limits of a language model's tokens. A limit of 0 is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenLimits {
    /// Number of token ids, which start at 0.
    pub vocabulary: u32,
    /// Maximum number of tokens of a prompt.
    pub max_input: u32,
    /// Maximum number of tokens of an output.
    pub max_output: u32,
}

/// Reason why a prompt does not fit the model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnfitPrompt {
    /// The prompt is empty.
    #[error("the prompt has no token")]
    Empty,
    /// The prompt is too long.
    #[error("the prompt has {got} tokens, the model takes {most}")]
    TooLong {
        /// Number of the prompt's tokens.
        got: usize,
        /// Maximum number of tokens.
        most: u32,
    },
    /// The prompt contains an id outside of the vocabulary.
    #[error("token {place} of the prompt is {id}; ids go from 0 to {}", vocabulary.map_or("2^31 - 1".into(), |n| (n - 1).to_string()))]
    Unknown {
        /// Index of the id in the prompt, from 0 on.
        place: usize,
        /// The unknown id.
        id: i64,
        /// Number of ids, if known.
        vocabulary: Option<u32>,
    },
}

impl TokenLimits {
    /// Fails if a prompt, a tensor of token ids, does not fit the model.
    pub(crate) fn check(self, prompt: &Tensor<Bytes>) -> Result<(), UnfitPrompt> {
        let (got, most) = (integers(prompt).len(), self.max_input);
        if got == 0 {
            return Err(UnfitPrompt::Empty);
        }
        if most > 0 && got > most as usize {
            return Err(UnfitPrompt::TooLong { got, most });
        }
        let vocabulary = Some(self.vocabulary).filter(|count| *count > 0);
        let known = 0..vocabulary.map_or(1 << 31, i64::from);
        if prompt.data_type == DataType::Int32 && highest(&prompt.data) < known.end {
            return Ok(());
        }
        match integers(prompt).enumerate().find(|(_, id)| !known.contains(id)) {
            Some((place, id)) => Err(UnfitPrompt::Unknown { place, id, vocabulary }),
            None => Ok(()),
        }
    }
}

/// Returns the highest of the ids, which are int32 in little-endian bytes. A negative id is read as
/// unsigned, so it counts as higher than all others. The compiler vectorizes this function well.
fn highest(ids: &[u8]) -> i64 {
    let unsigned = |id: &[u8]| u32::from_le_bytes(id.try_into().unwrap_or_default());
    ids.chunks_exact(ID_BYTES).map(unsigned).fold(0, u32::max).into()
}

#[cfg(test)]
mod tests {
    use netdiv_contract::tokens;

    use super::*;

    #[test]
    fn prompts_that_the_model_cannot_read_are_refused_by_name() {
        let limits = TokenLimits { vocabulary: 100, max_input: 3, max_output: 0 };
        for (ids, words) in [
            (&[0, 99][..], ""),
            (&[], "no token"),
            (&[1, 2, 3, 4], "has 4 tokens, the model takes 3"),
            (&[5, 100], "token 1 of the prompt is 100; ids go from 0 to 99"),
            (&[-1], "token 0 of the prompt is -1"),
        ] {
            let (shape, data) = (vec![ids.len()], tokens::to_bytes(ids));
            let prompt = Tensor { data_type: DataType::Int32, shape, data };
            let outcome = limits.check(&prompt).map_err(|error| error.to_string());
            assert!(outcome.err().unwrap_or_default().contains(words), "{words}");
        }
    }
}
