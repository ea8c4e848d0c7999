//! The memory that a run's samples need.

use netdiv_contract::encoding::{Encoded, Encoding};
use netdiv_dataset::Dataset;
use netdiv_node_common::resources::memory::{self, TooLittleMemory};
use netdiv_receivers::Witness;

/// Returns the memory that a library of that data set needs, in bytes, if `loaded` samples are
/// loaded at the same time. Fails if there is not enough memory.
pub(crate) fn library_bytes(
    dataset: &dyn Dataset,
    loaded: usize,
    encoding: Encoding,
    digests: bool,
) -> Result<u64, TooLittleMemory> {
    let count = dataset.sample_count();
    // Each change copies the table of loaded samples, and up to three copies exist at a time.
    let witness = if digests { Witness::BYTES_PER_SAMPLE } else { 0 };
    let entry = size_of::<usize>() + size_of::<Option<u32>>() + 3 * size_of::<Option<Encoded>>();
    let tables = (count as u64).saturating_mul((entry + witness) as u64);
    memory::check(tables)?;
    let sizes = (0..count).map(|index| dataset.sample_bytes(index));
    let longest = sizes.clone().max().unwrap_or(0);
    let samples: u64 = if encoding != Encoding::None {
        // The encoded lengths are known only when samples are loaded.
        0
    } else if loaded >= count {
        sizes.fold(0, u64::saturating_add)
    } else {
        // LoadGen chooses the samples; the longest ones are an upper bound.
        let mut sorted = memory::list(count)?;
        sorted.extend(sizes);
        sorted.sort_unstable();
        sorted.iter().rev().take(loaded).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    };
    // One sample as it is read and as it is encoded, besides the loaded ones.
    let bytes = tables.saturating_add(samples).saturating_add(longest.saturating_mul(2));
    memory::check(bytes).map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use netdiv_dataset as dataset;

    use super::*;

    #[test]
    fn a_data_set_that_does_not_fit_is_refused_by_number() {
        let library = |name: &str, loaded, encoding, digests| {
            library_bytes(dataset::open(name).unwrap().as_ref(), loaded, encoding, digests)
        };
        let bytes = |name: &str, loaded, digests| library(name, loaded, Encoding::None, digests);
        let all = bytes("synthetic:1000x1000", 1000, false).unwrap();
        let few = bytes("synthetic:1000x1000", 10, false).unwrap();
        assert_eq!(all - few, 990 * 1000);
        assert!(bytes("synthetic:1000x1000", 10, true).unwrap() > few);
        let packed = library("synthetic:1000x1000", 1000, Encoding::Zstd, false).unwrap();
        assert_eq!(all - packed, 1000 * 1000);
        for (name, loaded) in
            [("synthetic:1000000000000x1", 1), ("synthetic:10000000x200000000", 10_000_000)]
        {
            let error = bytes(name, loaded, false).unwrap_err().to_string();
            assert!(error.contains("bytes of memory are needed"), "{error}");
        }
    }
}
