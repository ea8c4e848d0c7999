//! Random samples and prompts from a seed, for tests of the network.

use netdiv_contract::{
    layout::InputLayout,
    limits::MAX_PAYLOAD_BYTES,
    tokens::{self, ID_BYTES},
};
use netdiv_node_common::resources::memory;
use rand::{Rng as _, RngCore as _, SeedableRng as _, rngs::StdRng};

use crate::{
    error::DatasetError,
    ids,
    sample::{Dataset, Sample},
};

/// Parses `COUNTxSIZE` or `COUNTxSIZE@SEED`.
fn parse(description: &str) -> Option<(usize, &str, u64)> {
    let (size, seed) = description.split_once('@').unwrap_or((description, "0"));
    let (count, size) = size.split_once('x')?;
    let (count, seed): (usize, u64) = (count.parse().ok()?, seed.parse().ok()?);
    (count > 0).then_some((count, size, seed))
}

/// Returns the generator of a sample. Each sample has its own, so it does not depend on the order
/// of reading.
fn generator(seed: u64, index: usize) -> StdRng {
    StdRng::seed_from_u64(seed ^ (index as u64) << 32)
}

pub(super) struct Synthetic {
    name: String,
    count: usize,
    bytes: usize,
    seed: u64,
}

impl Synthetic {
    /// Parses `COUNTxBYTES` or `COUNTxBYTES@SEED`.
    pub(super) fn parse(name: &str, description: &str) -> Result<Self, DatasetError> {
        let parsed = || {
            let (count, bytes, seed) = parse(description)?;
            let bytes: usize = bytes.parse().ok()?;
            (1..=MAX_PAYLOAD_BYTES).contains(&bytes).then(|| Self {
                name: name.into(),
                count,
                bytes,
                seed,
            })
        };
        parsed().ok_or_else(|| DatasetError::BadSynthetic(name.into()))
    }
}

impl Dataset for Synthetic {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sample_count(&self) -> usize {
        self.count
    }

    fn layout(&self) -> Option<InputLayout> {
        None
    }

    fn sample_bytes(&self, _: usize) -> u64 {
        self.bytes as u64
    }

    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        let too_large = |error| DatasetError::TooLarge { name: self.name(), index, error };
        let mut sample = memory::zeros(self.bytes as u64).map_err(too_large)?;
        generator(self.seed, index).fill_bytes(&mut sample);
        Ok(Sample::Bytes(sample.into()))
    }
}

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
            let (count, tokens, seed) = parse(description)?;
            let (least, most) = tokens.split_once('-').unwrap_or((tokens, tokens));
            let (least, most) = (least.parse().ok()?, most.parse().ok()?);
            let is_sound = 0 < least && least <= most && most <= MAX_PAYLOAD_BYTES / ID_BYTES;
            is_sound.then(|| Self { name: name.into(), count, least, most, seed })
        };
        parsed().ok_or_else(|| DatasetError::BadSyntheticIds(name.into()))
    }

    /// Returns the generator and the number of tokens of a sample.
    fn generator(&self, index: usize) -> (StdRng, usize) {
        let mut generator = generator(self.seed, index);
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
    fn a_seed_gives_the_same_samples_again() {
        let open = |name: &str| Synthetic::parse(name, &name["synthetic:".len()..]);
        let (a, b) = (open("synthetic:3x64@7").unwrap(), open("synthetic:3x64@7").unwrap());
        let bytes = |data: &Synthetic, index| {
            data.read(index).unwrap().into_payload(&InputLayout::default())
        };
        assert_eq!(bytes(&a, 2), bytes(&b, 2));
        assert_ne!(bytes(&a, 1), bytes(&a, 2));
        assert_ne!(bytes(&a, 1), bytes(&open("synthetic:3x64@8").unwrap(), 1));
        for bad in ["synthetic:", "synthetic:0x5", "synthetic:5x0", "synthetic:5", "synthetic:axb"]
        {
            assert!(open(bad).is_err(), "{bad}");
        }
    }

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
