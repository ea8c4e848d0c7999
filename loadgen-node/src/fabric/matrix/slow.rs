//! Detection of slow hosts and pairs.

use super::figures::{Host, Pair, SlowFinding, SlowPart};
use crate::fabric::usual_rates::{UsualRates, quantile};

/// Rates of a pair over its rounds, in bytes per second.
#[derive(Clone, Copy)]
struct PairRates<'a> {
    from: &'a Host,
    to: &'a Host,
    median: f64,
    minimum: f64,
    maximum: f64,
    rounds: usize,
}

impl<'a> PairRates<'a> {
    fn of(pair: &'a Pair) -> Option<Self> {
        let rates = || pair.rounds_bytes_per_second.iter().copied();
        Some(Self {
            from: &pair.from,
            to: &pair.to,
            median: pair.bytes_per_second?,
            minimum: rates().reduce(f64::min)?,
            maximum: rates().reduce(f64::max)?,
            rounds: rates().count(),
        })
    }
}

/// Returns the rates that the fastest quarter of the pairs reaches: in their median round, and in
/// their slowest round.
fn usual_rates(pairs: &[PairRates<'_>]) -> UsualRates {
    let median = usual_rate(pairs.iter().map(|pair| pair.median));
    UsualRates { median, minimum: usual_rate(pairs.iter().map(|pair| pair.minimum)) }
}

/// Returns the slow hosts, then the slow pairs that no slow host explains. Pairs with this machine
/// are compared among themselves, separately for each direction, because its link may differ.
pub(super) fn find_slow(pairs: &[Pair]) -> Vec<SlowFinding> {
    let measured: Vec<_> = pairs.iter().filter_map(PairRates::of).collect();
    let of = |from_here: bool, to_here: bool| -> Vec<_> {
        let is = |pair: &&PairRates<'_>| {
            (*pair.from == Host::Here) == from_here && (*pair.to == Host::Here) == to_here
        };
        measured.iter().filter(is).copied().collect()
    };
    let mut slow = between_nodes(&of(false, false));
    for pairs in [of(true, false), of(false, true)] {
        slow.extend(slow_pairs(&pairs, &usual_rates(&pairs), |_| true));
    }
    slow
}

fn between_nodes(pairs: &[PairRates<'_>]) -> Vec<SlowFinding> {
    let usual = usual_rates(pairs);
    let senders = slow_hosts(pairs, &usual, |pair| pair.from);
    let receivers = slow_hosts(pairs, &usual, |pair| pair.to);
    let named =
        |hosts: &[PairRates<'_>], what: fn(&PairRates<'_>) -> SlowPart| -> Vec<SlowFinding> {
            hosts.iter().map(|best| slow_finding(what(best), best, &usual)).collect()
        };
    let mut slow = named(&senders, |best| SlowPart::Sender(best.from.to_string()));
    slow.extend(named(&receivers, |best| SlowPart::Receiver(best.to.to_string())));
    let is_unexplained = |pair: &PairRates<'_>| {
        !senders.iter().any(|slow| slow.from == pair.from)
            && !receivers.iter().any(|slow| slow.to == pair.to)
    };
    slow.extend(slow_pairs(pairs, &usual, is_unexplained));
    slow
}

/// Returns the best pair of each slow host, which shows what the host can do. `end` selects the
/// sender or the receiver of a pair as its host. A host with a single pair is not listed: either
/// end may be slow.
fn slow_hosts<'a>(
    pairs: &[PairRates<'a>],
    usual: &UsualRates,
    end: fn(&PairRates<'a>) -> &'a Host,
) -> Vec<PairRates<'a>> {
    let mut hosts: Vec<_> = pairs.iter().map(end).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let slow = |host: &'a Host| {
        let own = || pairs.iter().filter(move |pair| end(pair) == host);
        let best = *own().max_by(|a, b| a.median.total_cmp(&b.median))?;
        let maximum = own().map(|pair| pair.maximum).fold(0.0, f64::max);
        (own().count() > 1 && usual.is_beyond(best.median, maximum)).then_some(best)
    };
    hosts.into_iter().filter_map(slow).collect()
}

fn slow_pairs(
    pairs: &[PairRates<'_>],
    usual: &UsualRates,
    counts: impl Fn(&PairRates<'_>) -> bool,
) -> Vec<SlowFinding> {
    let slow =
        pairs.iter().filter(|pair| usual.is_beyond(pair.median, pair.maximum) && counts(pair));
    let named = |pair: &PairRates<'_>| {
        slow_finding(SlowPart::Pair(pair.from.clone(), pair.to.clone()), pair, usual)
    };
    slow.map(named).collect()
}

fn slow_finding(what: SlowPart, pair: &PairRates<'_>, usual: &UsualRates) -> SlowFinding {
    SlowFinding {
        what,
        bytes_per_second: pair.median,
        usual_bytes_per_second: usual.median,
        rounds: pair.rounds,
    }
}

/// Returns the rate that the fastest quarter of the pairs reaches. The median would be too low:
/// with one slow host of three, two thirds of all pairs are slow.
fn usual_rate(rates: impl Iterator<Item = f64>) -> f64 {
    quantile(rates, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: impl ToString) -> Host {
        Host::Node(name.to_string())
    }

    fn pair(from: Host, to: Host, rounds: &[f64]) -> Pair {
        let rates = rounds.to_vec();
        let median = rates[rates.len() / 2];
        Pair {
            from,
            to,
            bytes_per_second: Some(median),
            rounds_bytes_per_second: rates,
            busy: None,
        }
    }

    /// Returns the slow parts among `hosts` nodes whose pairs have these rates in each round.
    fn found<const N: usize>(
        hosts: usize,
        rounds: impl Fn(usize, usize) -> [f64; N],
    ) -> Vec<SlowFinding> {
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        let pairs = pairs.map(|(from, to)| pair(node(from), node(to), &rounds(from, to)));
        find_slow(&pairs.collect::<Vec<_>>())
    }

    fn named(hosts: usize, rate: impl Fn(usize, usize) -> f64) -> Vec<SlowPart> {
        let found = found(hosts, |from, to| [rate(from, to)]);
        found.into_iter().map(|slow| slow.what).collect()
    }

    #[test]
    fn a_slow_host_explains_its_pairs() {
        for hosts in 3..8 {
            let sender = SlowPart::Sender("1".into());
            let receiver = SlowPart::Receiver("1".into());
            let slow_if = |is_slow: bool| if is_slow { 0.02 } else { 1.0 };
            let both = named(hosts, |from, to| slow_if(from == 1 || to == 1));
            assert_eq!(both, [sender.clone(), receiver.clone()], "{hosts} hosts");
            assert_eq!(named(hosts, |from, _| slow_if(from == 1)), [sender]);
            assert_eq!(named(hosts, |_, to| slow_if(to == 1)), [receiver]);
        }
    }

    #[test]
    fn a_slow_pair_is_named_alone() {
        for hosts in 3..8 {
            let found = named(hosts, |from, to| if (from, to) == (0, 2) { 0.5 } else { 1.0 });
            let pair = SlowPart::Pair(node(0), node(2));
            assert_eq!(found, [pair], "{hosts} hosts");
        }
        assert_eq!(named(5, |from, to| 1.0 - (from + to) as f64 / 100.0), []);
        assert_eq!(named(0, |_, _| 1.0), []);
    }

    #[test]
    fn of_two_hosts_only_the_pair_is_known() {
        let found = named(2, |from, _| if from == 0 { 0.5 } else { 1.0 });
        let pair = SlowPart::Pair(node(0), node(1));
        assert_eq!(found, [pair]);
    }

    #[test]
    fn differences_between_rounds_blame_no_node() {
        let from_1 =
            |usual: [f64; 3]| found(3, |from, _| if from == 1 { [0.4, 0.5, 0.6] } else { usual });
        let slow = from_1([0.9, 1.0, 1.1]);
        assert_eq!(slow.len(), 1);
        assert_eq!((&slow[0].what, slow[0].rounds), (&SlowPart::Sender("1".into()), 3));
        // The medians differ as much as before, but one round of the slow node is faster than one
        // round of the others.
        assert_eq!(from_1([0.55, 1.0, 1.1]), []);
    }

    #[test]
    fn this_machine_is_compared_with_itself() {
        let here = || Host::Here;
        let pairs = [
            pair(here(), node("a"), &[9.0]),
            pair(here(), node("b"), &[2.0]),
            pair(node("a"), here(), &[3.0]),
            pair(node("b"), here(), &[3.0]),
            pair(node("a"), node("b"), &[1.0]),
            pair(node("b"), node("a"), &[1.0]),
        ];
        let found: Vec<_> = find_slow(&pairs).into_iter().map(|slow| slow.what).collect();
        assert_eq!(found, [SlowPart::Pair(Host::Here, node("b"))]);
    }
}
