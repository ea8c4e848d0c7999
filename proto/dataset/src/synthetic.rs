//! Random samples from a seed, for tests of the network.

use netdiv_contract::{layout::InputLayout, limits::MAX_PAYLOAD_BYTES};
use netdiv_node_common::resources::memory;
use rand::{RngCore as _, SeedableRng as _, rngs::StdRng};

use crate::{
    error::DatasetError,
    sample::{Dataset, Sample},
};

pub(super) struct Synthetic {
    name: String,
    count: usize,
    bytes: usize,
    seed: u64,
}

impl Synthetic {
    /// Parses `COUNTxBYTES` or `COUNTxBYTES@SEED`.
    pub(super) fn parse(name: &str, description: &str) -> Result<Self, DatasetError> {
        let bad = || DatasetError::BadSynthetic(name.into());
        let (size, seed) = description.split_once('@').unwrap_or((description, "0"));
        let (count, bytes) = size.split_once('x').ok_or_else(bad)?;
        let count: usize = count.parse().map_err(|_| bad())?;
        let bytes: usize = bytes.parse().map_err(|_| bad())?;
        let seed = seed.parse().map_err(|_| bad())?;
        if count == 0 || bytes == 0 || bytes > MAX_PAYLOAD_BYTES {
            return Err(bad());
        }
        Ok(Self { name: name.into(), count, bytes, seed })
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

    /// Generates a sample. Each sample has its own generator, so it does not depend on the order of
    /// reading.
    fn read(&self, index: usize) -> Result<Sample, DatasetError> {
        let mut generator = StdRng::seed_from_u64(self.seed ^ (index as u64) << 32);
        let too_large = |error| DatasetError::TooLarge { name: self.name(), index, error };
        let mut sample = memory::zeros(self.bytes as u64).map_err(too_large)?;
        generator.fill_bytes(&mut sample);
        Ok(Sample::Bytes(sample.into()))
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
}
