//! Seeds of samples, for tests: equal prompts then have equal outputs.

use anyhow::ensure;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::model::served_model::ServedModel;

/// Number from which the seed of each sample is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SamplingSeed(pub(crate) u64);

impl SamplingSeed {
    /// Returns the operator's number, if there is one. Fails if the model does not sample.
    pub(crate) fn of(number: Option<u64>, model: &ServedModel) -> anyhow::Result<Option<Self>> {
        ensure!(
            number.is_none() || model.sampled,
            "--sampling-seed: the model chooses the likeliest token; write sampled = true in its description, or remove the option"
        );
        Ok(number.map(Self))
    }

    /// Returns the seed of a sample, which depends on its prompt alone. It has 31 bits, which every
    /// serving engine accepts.
    pub(crate) fn of_prompt(self, prompt: impl Iterator<Item = i64>) -> u32 {
        let mut digest = Sha256::new_with_prefix(self.0.to_le_bytes());
        prompt.for_each(|id| digest.update(id.to_le_bytes()));
        let [a, b, c, d, ..] = <[u8; 32]>::from(digest.finalize());
        u32::from_le_bytes([a, b, c, d]) >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_depends_on_the_number_and_on_every_id() {
        let of = |number, ids: &[i64]| SamplingSeed(number).of_prompt(ids.iter().copied());
        let seeds = [of(1, &[7, 8]), of(2, &[7, 8]), of(1, &[8, 7]), of(1, &[7]), of(1, &[7, 9])];
        assert!(
            seeds.iter().enumerate().all(|(at, seed)| !seeds[..at].contains(seed)),
            "{seeds:?}"
        );
        assert_eq!(seeds[0], of(1, &[7, 8]));
    }
}
