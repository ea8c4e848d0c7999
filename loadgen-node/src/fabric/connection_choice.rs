//! Choice of the number of connections, if no option sets it: as many as make the measurement
//! faster.

/// Minimum growth of the rate, as a ratio, that justifies more connections.
const GROWTH: f64 = 1.05;

/// Rate with a number of connections to each node, each with its own I/O thread.
#[derive(
    Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub(crate) struct ConnectionTrial {
    pub(crate) connections: usize,
    /// Payload bytes per second, both ways together.
    pub(crate) bytes_per_second: f64,
}

/// Returns the number of connections to try next: twice as many while the rate grows, at most
/// `most`. `None` if more would not help.
pub(crate) fn next_connections(tried: &[ConnectionTrial], most: usize) -> Option<usize> {
    let [before @ .., last] = tried else { return Some(1) };
    let grew =
        before.last().is_none_or(|one| last.bytes_per_second >= one.bytes_per_second * GROWTH);
    (grew && last.connections < most).then(|| last.connections.saturating_mul(2).min(most))
}

/// Returns the last number of connections that made the rate grow; 1 if nothing was tried.
pub(crate) fn chosen_connections(tried: &[ConnectionTrial]) -> usize {
    let grew =
        |pair: &&[ConnectionTrial]| pair[1].bytes_per_second >= pair[0].bytes_per_second * GROWTH;
    let steps = tried.windows(2).take_while(grew).count();
    tried.get(steps).map_or(1, |tried| tried.connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries these rates for 1, 2, 4… connections. Returns the choice, and the number of tries.
    fn choose(rates: &[f64], most: usize) -> (usize, usize) {
        let mut tried = Vec::new();
        while let Some(connections) = next_connections(&tried, most) {
            tried.push(ConnectionTrial { connections, bytes_per_second: rates[tried.len()] });
        }
        (chosen_connections(&tried), tried.len())
    }

    #[test]
    fn connections_are_added_as_long_as_the_rate_grows() {
        assert_eq!(choose(&[1.0, 1.9, 3.6, 3.7, 9.0], 64), (4, 4));
        assert_eq!(choose(&[1.0, 1.04], 64), (1, 2));
        assert_eq!(choose(&[1.0, 0.5], 64), (1, 2), "a rate that falls");
        assert_eq!(choose(&[1.0, 2.0, 3.0], 3), (3, 3), "not a power of two");
        assert_eq!(choose(&[1.0], 1), (1, 1));
        assert_eq!(choose(&[0.0, 0.0, 0.0, 0.0], 8).0, 8, "no message arrived: more are tried");
        assert_eq!(chosen_connections(&[]), 1);
    }
}
