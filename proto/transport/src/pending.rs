//! Pending connections of a node, and the choice of the connection that makes room for a new one.
//!
//! Fairness applies to addresses. The address with the most pending connections loses one, so a
//! peer that uses few connections is not kept out by peers at other addresses. Among the
//! connections of one address the oldest has had its chance, so it has to close. If all of them are
//! too young for that, one is chosen at random. So each may stay long enough, however fast new
//! connections arrive.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher as _, RandomState},
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

/// Time within which a client normally makes its first call. A pending connection that is older has
/// had its chance, and is closed before younger ones.
const FIRST_CALL_TIME: Duration = Duration::from_secs(1);

/// Pending connections of a node; `T` is the handle with which a connection is asked to close.
#[derive(Debug)]
pub(crate) struct PendingConnections<T> {
    /// Pending connections by [`network`] and number: the time of arrival and the handle of each.
    /// Numbers increase in the order of arrival. No inner map is empty.
    networks: HashMap<IpAddr, BTreeMap<u64, (Instant, T)>>,
    count: usize,
    next: u64,
    chance: RandomState,
}

/// Key of a pending connection in [`PendingConnections`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingKey {
    network: IpAddr,
    number: u64,
}

impl<T> Default for PendingConnections<T> {
    fn default() -> Self {
        let (networks, chance) = (HashMap::new(), RandomState::new());
        Self { networks, count: 0, next: 0, chance }
    }
}

impl<T> PendingConnections<T> {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn add(&mut self, address: IpAddr, now: Instant, stranger: T) -> PendingKey {
        let place = PendingKey { network: network(address), number: self.next };
        self.next += 1;
        self.count += 1;
        self.networks.entry(place.network).or_default().insert(place.number, (now, stranger));
        place
    }

    /// Removes a connection and returns its handle; `None` if it was removed before.
    pub(crate) fn remove(&mut self, place: PendingKey) -> Option<T> {
        let network = self.networks.get_mut(&place.network)?;
        let (_, stranger) = network.remove(&place.number)?;
        self.count -= 1;
        if network.is_empty() {
            self.networks.remove(&place.network);
        }
        Some(stranger)
    }

    /// Chooses and removes the connection that has to close, and returns its handle. `newcomer` is
    /// the address of the connection for which it makes room, if there is one.
    pub(crate) fn make_room(&mut self, newcomer: Option<IpAddr>, now: Instant) -> Option<T> {
        let newcomer = newcomer.map(network);
        let share = |(name, members): &(&IpAddr, &BTreeMap<u64, _>)| {
            let all = members.len() + usize::from(newcomer == Some(**name));
            (all, Reverse(members.keys().next().copied()))
        };
        let (network, members) = self.networks.iter().max_by_key(share)?;
        let (oldest, (since, _)) = members.first_key_value()?;
        let number = if now.saturating_duration_since(*since) >= FIRST_CALL_TIME {
            *oldest
        } else {
            let chance = self.chance.hash_one((self.next, self.count)) % members.len() as u64;
            *members.keys().nth(usize::try_from(chance).ok()?)?
        };
        self.remove(PendingKey { network: *network, number })
    }
}

/// Returns the network that counts as one address: the IPv4 address itself, or the /64 of an IPv6
/// address, which is the smallest network that a subscriber has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    /// Returns pending connections from these addresses, numbered in order, and the current time.
    /// The first one arrived a minute ago.
    fn strangers(addresses: &[IpAddr]) -> (PendingConnections<usize>, Instant) {
        let (mut strangers, start) = (PendingConnections::default(), Instant::now());
        for (place, address) in addresses.iter().enumerate() {
            strangers.add(*address, start + Duration::from_secs(place as u64), place);
        }
        (strangers, start + Duration::from_secs(60))
    }

    #[test]
    fn the_address_with_most_loses_its_oldest() {
        let (mut strangers, now) = strangers(&[ONE, OTHER, OTHER, ONE, OTHER]);
        assert_eq!(
            strangers.make_room(Some(ONE), now),
            Some(0),
            "with the new connection both have 3"
        );
        assert_eq!(strangers.make_room(Some(ONE), now), Some(1));
        assert_eq!(strangers.make_room(Some(OTHER), now), Some(2));
        assert_eq!(strangers.make_room(None, now), Some(3), "both have 1");
        assert_eq!((strangers.make_room(None, now), strangers.len()), (Some(4), 0));
        assert_eq!(strangers.make_room(Some(ONE), now), None);
    }

    #[test]
    fn a_flood_closes_no_connections_of_other_addresses() {
        let (mut strangers, now) = strangers(&[ONE]);
        for newcomer in 1..1000 {
            if strangers.len() == 8 {
                assert_ne!(strangers.make_room(Some(OTHER), now), Some(0));
            }
            strangers.add(OTHER, now, newcomer);
        }
        assert_eq!(strangers.len(), 8);
    }

    #[test]
    fn chance_decides_among_those_who_are_all_too_young() {
        let mut survivals = 0;
        for _ in 0..100 {
            let (mut strangers, now) = (PendingConnections::default(), Instant::now());
            for number in 0..100 {
                strangers.add(ONE, now, number);
            }
            let first = strangers.add(ONE, now, 100);
            // The whole pool is replaced once.
            for newcomer in 0..100 {
                strangers.make_room(Some(ONE), now);
                strangers.add(ONE, now, newcomer);
            }
            survivals += usize::from(strangers.remove(first).is_some());
        }
        assert!((10..70).contains(&survivals), "{survivals} of 100; 37 are expected");
    }

    #[test]
    fn who_has_gone_takes_no_room() {
        let (mut strangers, now) = (PendingConnections::default(), Instant::now());
        let place = strangers.add(ONE, now, 'a');
        assert_eq!((strangers.remove(place), strangers.remove(place)), (Some('a'), None));
        assert_eq!((strangers.len(), strangers.networks.len()), (0, 0));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), ONE);
        assert_ne!(of("10.0.0.1"), OTHER);
    }
}
