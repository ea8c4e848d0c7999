//! Which hosts and which pairs are slow.

use super::figures::{Host, Pair, Slow, SlowPart};
use crate::fabric::figures::SLOW;

/// Names what is slow: hosts first, then the pairs that no slow host explains. Pairs of this machine are compared among
/// themselves, those to nodes and those from nodes: its link may be another.
pub(super) fn slow(pairs: &[Pair]) -> Vec<Slow> {
    let measured: Vec<(&Host, &Host, f64)> = pairs
        .iter()
        .filter_map(|pair| Some((&pair.from, &pair.to, pair.bytes_per_second?)))
        .collect();
    let of = |from_here: bool, to_here: bool| -> Vec<_> {
        let is = |(from, to, _): &&(&Host, &Host, f64)| {
            (**from == Host::Here) == from_here && (**to == Host::Here) == to_here
        };
        measured.iter().filter(is).copied().collect()
    };
    let mut slow = between_nodes(&of(false, false));
    for pairs in [of(true, false), of(false, true)] {
        slow.extend(slow_pairs(&pairs, usual(rates(&pairs)), |_, _| true));
    }
    slow
}

fn between_nodes(pairs: &[(&Host, &Host, f64)]) -> Vec<Slow> {
    let usual = usual(rates(pairs));
    // The best of a host's pairs tells what the host can do; a single pair says nothing of either end.
    let slow_hosts = |end: fn(&(&Host, &Host, f64)) -> String| -> Vec<(String, f64)> {
        let mut hosts: Vec<_> = pairs.iter().map(end).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let best = |host: String| {
            let rates: Vec<_> =
                pairs.iter().filter(|pair| end(pair) == host).map(|pair| pair.2).collect();
            let best = rates.iter().copied().fold(0.0, f64::max);
            (rates.len() > 1 && best < SLOW * usual).then_some((host, best))
        };
        hosts.into_iter().filter_map(best).collect()
    };
    let senders = slow_hosts(|pair| pair.0.to_string());
    let receivers = slow_hosts(|pair| pair.1.to_string());
    let hosts = |hosts: &[(String, f64)], what: fn(String) -> SlowPart| -> Vec<Slow> {
        let slow = hosts.iter().map(|(host, best)| Slow {
            what: what(host.clone()),
            bytes_per_second: *best,
            usual_bytes_per_second: usual,
        });
        slow.collect()
    };
    let mut slow = hosts(&senders, SlowPart::Sender);
    slow.extend(hosts(&receivers, SlowPart::Receiver));
    let unexplained = |from: &Host, to: &Host| {
        let is = |hosts: &[(String, f64)], host: &Host| {
            hosts.iter().any(|(name, _)| *name == host.to_string())
        };
        !is(&senders, from) && !is(&receivers, to)
    };
    slow.extend(slow_pairs(pairs, usual, unexplained));
    slow
}

fn slow_pairs(
    pairs: &[(&Host, &Host, f64)],
    usual: f64,
    counts: impl Fn(&Host, &Host) -> bool,
) -> Vec<Slow> {
    let slow = pairs.iter().filter(|(from, to, rate)| *rate < SLOW * usual && counts(from, to));
    let slow = slow.map(|(from, to, rate)| Slow {
        what: SlowPart::Pair((*from).clone(), (*to).clone()),
        bytes_per_second: *rate,
        usual_bytes_per_second: usual,
    });
    slow.collect()
}

fn rates(pairs: &[(&Host, &Host, f64)]) -> impl Iterator<Item = f64> {
    pairs.iter().map(|pair| pair.2)
}

/// What a quarter of the pairs reach: with one slow host of three, two thirds of all pairs are slow.
pub(crate) fn usual(rates: impl Iterator<Item = f64>) -> f64 {
    let mut rates: Vec<_> = rates.collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() * 3 / 4).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is named where pairs of `hosts` nodes reach 1, but for what `rate` says.
    fn named(hosts: usize, rate: impl Fn(usize, usize) -> f64) -> Vec<SlowPart> {
        let node = |number: usize| Host::Node(number.to_string());
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        let pair = |(from, to)| Pair {
            from: node(from),
            to: node(to),
            bytes_per_second: Some(rate(from, to)),
            rounds_bytes_per_second: Vec::new(),
            busy: None,
        };
        let pairs: Vec<_> = pairs.filter(|(from, to)| from != to).map(pair).collect();
        slow(&pairs).into_iter().map(|slow| slow.what).collect()
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
            let pair = SlowPart::Pair(Host::Node("0".into()), Host::Node("2".into()));
            assert_eq!(found, [pair], "{hosts} hosts");
        }
        assert_eq!(named(5, |from, to| 1.0 - (from + to) as f64 / 100.0), []);
        assert_eq!(named(0, |_, _| 1.0), []);
    }

    #[test]
    fn of_two_hosts_only_the_pair_is_known() {
        let found = named(2, |from, _| if from == 0 { 0.5 } else { 1.0 });
        let pair = SlowPart::Pair(Host::Node("0".into()), Host::Node("1".into()));
        assert_eq!(found, [pair]);
    }

    #[test]
    fn this_machine_is_compared_with_itself() {
        let pair = |from: &str, to: &str, rate| {
            let host = |name: &str| match name {
                "" => Host::Here,
                name => Host::Node(name.into()),
            };
            Pair {
                from: host(from),
                to: host(to),
                bytes_per_second: Some(rate),
                rounds_bytes_per_second: Vec::new(),
                busy: None,
            }
        };
        let pairs = [
            pair("", "a", 9.0),
            pair("", "b", 2.0),
            pair("a", "", 3.0),
            pair("b", "", 3.0),
            pair("a", "b", 1.0),
            pair("b", "a", 1.0),
        ];
        let found: Vec<_> = slow(&pairs).into_iter().map(|slow| slow.what).collect();
        assert_eq!(found, [SlowPart::Pair(Host::Here, Host::Node("b".into()))]);
    }
}
