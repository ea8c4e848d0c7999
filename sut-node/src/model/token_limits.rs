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

impl TokenLimits {
    /// Fails if a prompt, a tensor of token ids, does not fit the model.
    pub(crate) fn check(self, prompt: &Tensor<Bytes>) -> Result<(), String> {
        let (got, most) = (integers(prompt).len(), self.max_input);
        if got == 0 {
            return Err("the prompt has no token".into());
        }
        if most > 0 && got > most as usize {
            return Err(format!("the prompt has {got} tokens, the model takes {most}"));
        }
        let known = match self.vocabulary {
            0 => 0..1 << 31,
            count => 0..i64::from(count),
        };
        if prompt.data_type == DataType::Int32 && highest(&prompt.data) < known.end {
            return Ok(());
        }
        match integers(prompt).enumerate().find(|(_, id)| !known.contains(id)) {
            Some((place, id)) => {
                let most = known.end - 1;
                Err(format!("token {place} of the prompt is {id}; ids go from 0 to {most}"))
            }
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
            assert!(limits.check(&prompt).err().unwrap_or_default().contains(words), "{words}");
        }
    }
}
