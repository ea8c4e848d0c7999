//! The interface that leads to a peer.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};

use netdiv_contract::v1::Route;

/// The route to an address, `HOST:PORT`.
pub fn route(peer: &str) -> Route {
    let address = peer.to_socket_addrs().ok().and_then(|mut found| found.next());
    let local = address.and_then(local);
    Route {
        peer: peer.into(),
        local_address: local.map(|ip| ip.to_string()),
        interface: local.and_then(interface_of),
    }
}

/// The address that this machine sends from. Connecting a UDP socket sends nothing.
fn local(mut peer: SocketAddr) -> Option<IpAddr> {
    // A caller over IPv4 may appear as ::ffff:10.0.0.1, which no interface has.
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
        for peer in ["127.0.0.1:50051", "[::ffff:127.0.0.1]:50051"] {
            let way = route(peer);
            assert_eq!(way.peer, peer);
            assert_eq!(way.interface.as_deref(), Some("lo"));
            assert_eq!(way.local_address.as_deref(), Some("127.0.0.1"));
        }
        assert_eq!(route("nowhere.invalid:1").interface, None);
    }
}
