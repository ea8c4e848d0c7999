//! The keys and values of an instance's samples.

use tch::{Device, IValue, Kind, Tensor};

use crate::failure::Failure;

/// Sizes that the entry `sizes` of a model file reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) layers: usize,
    /// Number of heads of keys and values.
    pub(super) groups: usize,
    /// Width of a head.
    pub(super) width: usize,
    /// Maximum number of positions.
    pub(super) longest: usize,
    pub(super) vocabulary: usize,
}

impl Sizes {
    /// Returns the number of bytes of a row with `positions` positions and elements of the type
    /// `kind`.
    fn row_bytes(&self, positions: usize, kind: Kind) -> u64 {
        let numbers = [2, self.layers, self.groups, positions, self.width];
        numbers.iter().map(|&n| n as u64).product::<u64>() * kind.elt_size_in_bytes() as u64
    }
}

/// Cache of keys and values: for each layer a tensor [rows, positions, heads of keys and then of
/// values, width].
pub(super) struct Cache {
    pub(super) layers: IValue,
    pub(super) slots: usize,
    pub(super) bytes: u64,
}

impl Cache {
    /// Creates a cache for `slots` samples with `rows` rows each. Reduces the number of slots so
    /// that the cache has at most `most_bytes` bytes, unless that is 0.
    pub(super) fn new(
        sizes: &Sizes,
        slots: usize,
        rows: usize,
        positions: usize,
        most_bytes: u64,
        place: (Kind, Device),
    ) -> Result<Self, Failure> {
        let each = sizes.row_bytes(positions, place.0) * rows as u64;
        let slots = fitting(slots, each, most_bytes)?;
        let shape = [slots * rows, positions, 2 * sizes.groups, sizes.width].map(|n| n as i64);
        let layers = (0..sizes.layers).map(|_| Tensor::f_zeros(shape, place));
        let layers = IValue::TensorList(layers.collect::<Result<_, _>>()?);
        Ok(Self { layers, slots, bytes: each * slots as u64 })
    }
}

/// Returns the number of slots of `each` bytes that fit into `most_bytes`, at most `slots`; `slots`
/// if `most_bytes` is 0.
fn fitting(slots: usize, each: u64, most_bytes: u64) -> Result<usize, Failure> {
    if most_bytes == 0 {
        return Ok(slots);
    }
    match most_bytes / each {
        0 => Err(Failure::refused(format!(
            "a cache of {most_bytes} bytes has no room for one sample, which needs {each}; raise cache_mib, or lower \
             max_input_tokens or max_tokens"
        ))),
        fit => Ok(slots.min(usize::try_from(fit).unwrap_or(slots))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { layers: 3, groups: 2, width: 8, longest: 128, vocabulary: 128 };

    fn cache(slots: usize, most_bytes: u64) -> Result<Cache, Failure> {
        Cache::new(&SIZES, slots, 4, 64, most_bytes, (Kind::Half, Device::Cpu))
    }

    #[test]
    fn a_cache_has_the_bytes_that_it_announces() {
        let cache = cache(5, 0).map_err(|failure| failure.text).unwrap();
        let IValue::TensorList(layers) = &cache.layers else { panic!("no list") };
        assert_eq!((layers.len(), layers[0].size()), (3, vec![20, 64, 4, 8]));
        let bytes: usize = layers.iter().map(|it| it.numel() * 2).sum();
        assert_eq!((cache.slots, cache.bytes), (5, bytes as u64));
    }

    #[test]
    fn bytes_limit_the_slots() {
        let each = 3 * 2 * 2 * 64 * 8 * 2 * 4;
        assert!(cache(5, 3 * each + 1).is_ok_and(|cache| cache.slots == 3));
        assert!(cache(5, 9 * each).is_ok_and(|cache| cache.slots == 5));
        assert!(cache(5, each - 1).is_err_and(|it| it.text.contains("raise cache_mib")));
    }
}
