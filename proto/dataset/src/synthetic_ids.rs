//! Random prompts from a seed, for tests of the network.

use netdiv_contract::{
    layout::InputLayout,
    limits::MAX_PAYLOAD_BYTES,
    tokens::{self, ID_BYTES},
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::{
    error::DatasetError,
    ids,
    sample::{Dataset, Sample},
};

/// Ids in prompts: the ids of the benchmarks' smallest vocabularies, without the first few, which
/// mark the beginning and the end of a text.
const IDS: std::ops::Range<i32> = 8..32_000;

pub(super) struct SyntheticIds {
    name: String,
    count: usize,
    least: usize,
    most: usize,
    seed: u64,
}

impl SyntheticIds {
    /// Parses `COUNTxTOKENS` or `COUNTxMIN-MAX`, with or without `@SEED`.
    pub(super) fn parse(name: &str, description: &str) -> Result<Self, DatasetError> {
        let parsed = || {
            let (size, seed) = description.split_once('@').unwrap_or((description, "0"));
            let (count, tokens) = size.split_once('x')?;
            let (least, most) = tokens.split_once('-').unwrap_or((tokens, tokens));
            let (count, seed) = (count.parse().ok()?, seed.parse().ok()?);
            let (least, most) = (least.parse().ok()?, most.parse().ok()?);
            let is_sound =
                count > 0 && 0 < least && least <= most && most <= MAX_PAYLOAD_BYTES / ID_BYTES;
            is_sound.then(|| Self { name: name.into(), count, least, most, seed })
        };
        parsed().ok_or_else(|| DatasetError::BadSyntheticIds(name.into()))
    }

    /// Returns the generator and the number of tokens of a sample. Each sample has its own
    /// generator, so it does not depend on the order of reading.
    fn generator(&self, index: usize) -> (StdRng, usize) {
        let mut generator = StdRng::seed_from_u64(self.seed ^ (index as u64) << 32);
        let length = generator.random_range(self.least..=self.most);
        (generator, length)
    }
}

impl Dataset for SyntheticIds {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sample_count(&self) -> usize {
        self.count
    }

    fn layout(&self) -> Option<InputLayout> {
        Some(ids::layout())
    }

    fn sample_bytes(&self, index: usize) -> u64 {
        (self.generator(index).1 * ID_BYTES) as u64
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        let (mut generator, length) = self.generator(index);
        let ids: Vec<_> = (0..length).map(|_| generator.random_range(IDS)).collect();
        Ok(ids::prompt(tokens::to_bytes(&ids)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_have_the_lengths_that_were_asked_for() {
        let open = |name: &str| SyntheticIds::parse(name, &name["synthetic-ids:".len()..]);
        let data = open("synthetic-ids:50x3-9@7").unwrap();
        let lengths: std::collections::BTreeSet<_> =
            (0..50).map(|index| data.sample_bytes(index) / 4).collect();
        assert!(lengths.iter().all(|length| (3..=9).contains(length)) && lengths.len() > 3);
        let Sample::Tensors(tensors) = data.read(4).unwrap() else { panic!("bytes") };
        assert_eq!(tensors[0].data.len() as u64, data.sample_bytes(4));
        for bad in ["", "0x5", "5x0", "5", "5x9-3", "ax3", "5x99999999999"] {
            assert!(open(&format!("synthetic-ids:{bad}")).is_err(), "{bad}");
        }
    }
}
