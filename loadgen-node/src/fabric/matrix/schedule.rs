//! Schedule of the pairs that measure.

/// Indexes of sender and receiver.
pub(super) type PairIndexes = (usize, usize);

/// Returns all ordered pairs of `hosts` hosts, each once, in rounds in which no host occurs twice.
/// The schedule is a round-robin tournament by the circle method; each of its rounds is repeated
/// with the ends exchanged.
pub(super) fn rounds(hosts: usize) -> Vec<Vec<PairIndexes>> {
    // With an odd number of hosts, one host pauses in each round.
    let places = hosts.next_multiple_of(2);
    let Some(circle) = places.checked_sub(1) else { return Vec::new() };
    let round = |turn: usize| {
        let beside_the_fixed_one = (circle, turn);
        let others =
            (1..places / 2).map(move |k| ((turn + k) % circle, (turn + circle - k) % circle));
        let all = std::iter::once(beside_the_fixed_one).chain(others);
        all.filter(|(one, two)| *one < hosts && *two < hosts).collect::<Vec<_>>()
    };
    let there_and_back = |there: Vec<PairIndexes>| {
        let back = there.iter().map(|(one, two)| (*two, *one)).collect();
        [there, back]
    };
    (0..circle).map(round).flat_map(there_and_back).filter(|round| !round.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_has_a_round_and_no_round_shares_an_end() {
        for hosts in 0..20 {
            let rounds = rounds(hosts);
            let mut pairs = BTreeSet::new();
            for round in &rounds {
                let ends: BTreeSet<_> = round.iter().flat_map(|(one, two)| [one, two]).collect();
                assert_eq!(ends.len(), 2 * round.len(), "{hosts}: {round:?}");
                pairs.extend(round.iter().copied());
            }
            let all = (0..hosts).flat_map(|one| (0..hosts).map(move |two| (one, two)));
            assert_eq!(pairs, all.filter(|(one, two)| one != two).collect(), "{hosts}");
            let most = hosts.saturating_sub(1 - hosts % 2) * 2;
            assert!(rounds.len() <= most, "{hosts}: {} rounds", rounds.len());
        }
    }
}
