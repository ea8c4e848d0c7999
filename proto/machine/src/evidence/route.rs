//! Interface that leads to a peer, or to a serving engine.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};

use netdiv_contract::v1::{Route, ServingEngine};

/// Returns the route to an address, `HOST:PORT` or `NAME@IP:PORT`.
pub fn route(peer: &str) -> Route {
    let place = peer.rsplit_once('@').map_or(peer, |(_, place)| place);
    let local = resolved(place).and_then(local);
    Route {
        peer: peer.into(),
        local_address: local.map(|ip| ip.to_string()),
        interface: local.and_then(interface_of),
    }
}

/// Locates a serving engine that listens at an address, `HOST:PORT`. An engine is on this machine
/// if its address is also the source address of packets to it: then the machine sends to itself.
pub fn serving_engine(address: &str) -> ServingEngine {
    let here = |peer: &SocketAddr| {
        let ip = peer.ip().to_canonical();
        ip.is_loopback() || ip.is_unspecified() || local(*peer) == Some(ip)
    };
    // A name may resolve to several machines.
    let peers = addresses(address);
    let elsewhere = peers.iter().find(|peer| !here(peer)).or(peers.first());
    ServingEngine {
        address: address.into(),
        here: elsewhere.map(here),
        interface: elsewhere.and_then(|peer| interface_of(local(*peer)?)),
    }
}

fn resolved(address: &str) -> Option<SocketAddr> {
    addresses(address).first().copied()
}

fn addresses(address: &str) -> Vec<SocketAddr> {
    let Some((host, port)) = address.rsplit_once(':') else { return Vec::new() };
    let Ok(port) = port.parse::<u16>() else { return Vec::new() };
    // The standard library does not accept a zone, such as %eth0, in brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (host, port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
}

/// Returns the address that this machine sends from. Connecting a UDP socket sends no packet.
fn local(mut peer: SocketAddr) -> Option<IpAddr> {
    // A peer over IPv4 may appear as ::ffff:10.0.0.1, which is not the address of any interface.
    peer.set_ip(peer.ip().to_canonical());
    let any: IpAddr = if peer.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(peer).ok()?;
    Some(socket.local_addr().ok()?.ip().to_canonical())
}

fn interface_of(local: IpAddr) -> Option<String> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    interfaces.into_iter().find(|interface| interface.ip() == local).map(|found| found.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_reached_over_loopback() {
        for peer in ["127.0.0.1:50051", "[::ffff:127.0.0.1]:50051", "nodes.lab@127.0.0.1:50051"] {
            let way = route(peer);
            assert_eq!(way.peer, peer);
            assert_eq!(way.interface.as_deref(), Some("lo"));
            assert_eq!(way.local_address.as_deref(), Some("127.0.0.1"));
        }
        assert_eq!(route("nowhere.invalid:1").interface, None);
    }

    #[test]
    fn an_address_of_one_link_is_resolved_with_its_zone() {
        for address in ["[fe80::1%lo]:5", "n.lab@[fe80::1%lo]:5"] {
            let place = address.rsplit_once('@').map_or(address, |(_, place)| place);
            let found = resolved(place).unwrap();
            assert!(matches!(found, SocketAddr::V6(found) if found.scope_id() > 0), "{found}");
        }
        assert_eq!(resolved("[fe80::1%nope]:5"), None);
    }

    #[test]
    fn an_engine_is_here_or_elsewhere_or_nowhere() {
        let mut own = vec!["127.0.0.1:8000".to_owned(), "127.3.2.1:8000".to_owned()];
        let others = if_addrs::get_if_addrs().unwrap().into_iter().map(|one| one.ip());
        own.extend(others.filter(IpAddr::is_ipv4).map(|ip| format!("{ip}:8000")));
        for address in own {
            assert_eq!(serving_engine(&address).here, Some(true), "{address}");
        }
        assert_eq!(serving_engine("127.0.0.1:1").interface.as_deref(), Some("lo"));
        assert_eq!(serving_engine("nowhere.invalid:1").here, None);
        // An address reserved for documentation (RFC 5737), if there is a route to it.
        let elsewhere = serving_engine("192.0.2.1:8000");
        assert_eq!(elsewhere.here, route("192.0.2.1:8000").local_address.map(|_| false));
    }
}
