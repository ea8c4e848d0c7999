//! How many connections a measurement takes where nobody says: as many as make it faster.

/// Growth of the rate below which more connections are not worth it.
const GROWTH: f64 = 1.05;

/// The rate with so many connections to each node, each with an I/O thread of its own.
#[derive(
    Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub(crate) struct Tried {
    pub(crate) connections: usize,
    /// Payload bytes per second, both ways together.
    pub(crate) bytes_per_second: f64,
}

/// How many connections to try next: twice as many as long as that made the rate grow, up to `most`. `None`: it is enough.
pub(crate) fn next(tried: &[Tried], most: usize) -> Option<usize> {
    let [before @ .., last] = tried else { return Some(1) };
    let grew =
        before.last().is_none_or(|one| last.bytes_per_second >= one.bytes_per_second * GROWTH);
    (grew && last.connections < most).then(|| last.connections.saturating_mul(2).min(most))
}

/// What to take of what was tried: the last that made the rate grow; 1 where nothing was tried.
pub(crate) fn chosen(tried: &[Tried]) -> usize {
    let grew = |pair: &&[Tried]| pair[1].bytes_per_second >= pair[0].bytes_per_second * GROWTH;
    let steps = tried.windows(2).take_while(grew).count();
    tried.get(steps).map_or(1, |tried| tried.connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes through these rates for 1, 2, 4… connections; gives what is chosen, and how many were tried.
    fn choose(rates: &[f64], most: usize) -> (usize, usize) {
        let mut tried = Vec::new();
        while let Some(connections) = next(&tried, most) {
            tried.push(Tried { connections, bytes_per_second: rates[tried.len()] });
        }
        (chosen(&tried), tried.len())
    }

    #[test]
    fn connections_are_added_as_long_as_the_rate_grows() {
        assert_eq!(choose(&[1.0, 1.9, 3.6, 3.7, 9.0], 64), (4, 4));
        assert_eq!(choose(&[1.0, 1.04], 64), (1, 2));
        assert_eq!(choose(&[1.0, 0.5], 64), (1, 2), "a rate that falls");
        assert_eq!(choose(&[1.0, 2.0, 3.0], 3), (3, 3), "not a power of two");
        assert_eq!(choose(&[1.0], 1), (1, 1));
        assert_eq!(choose(&[0.0, 0.0, 0.0, 0.0], 8).0, 8, "nothing came: more are tried");
        assert_eq!(chosen(&[]), 1);
    }
}
