//! The memory that a run's samples take.

use netdiv_contract::encoding::{Encoded, Encoding};
use netdiv_dataset::Dataset;
use netdiv_node_common::resources::memory::{self, TooLittleMemory};

use crate::qsl::witness::Witness;

/// The memory that a library of that data set takes, of whose samples so many are loaded at the same time; an error where
/// there is not so much.
pub(crate) fn of_library(
    dataset: &dyn Dataset,
    loaded: usize,
    encoding: Encoding,
    digests: bool,
) -> Result<u64, TooLittleMemory> {
    let count = dataset.sample_count();
    // What is loaded is a table of its own each time it changes, and then it is there three times.
    let witness = if digests { Witness::BYTES_PER_SAMPLE } else { 0 };
    let entry = size_of::<usize>() + size_of::<Option<u32>>() + 3 * size_of::<Option<Encoded>>();
    let tables = (count as u64).saturating_mul((entry + witness) as u64);
    memory::check(tables)?;
    let sizes = (0..count).map(|index| dataset.sample_bytes(index));
    let longest = sizes.clone().max().unwrap_or(0);
    let samples: u64 = if encoding != Encoding::None {
        // How long they are packed shows when they are loaded.
        0
    } else if loaded >= count {
        sizes.fold(0, u64::saturating_add)
    } else {
        // LoadGen chooses; at most the longest ones.
        let mut sorted = memory::list(count)?;
        sorted.extend(sizes);
        sorted.sort_unstable();
        sorted.iter().rev().take(loaded).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    };
    // One sample as it is read and as it is packed, besides what is loaded.
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
            of_library(dataset::open(name).unwrap().as_ref(), loaded, encoding, digests)
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
