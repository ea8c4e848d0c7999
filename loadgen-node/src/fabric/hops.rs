//! Number of IP hops to a node. A packet limited to one hop reaches a machine on the same network;
//! each router on the path needs one more.

use std::{
    io::ErrorKind,
    net::{SocketAddr, ToSocketAddrs as _},
    time::Duration,
};

use socket2::{Domain, Protocol, Socket, Type};

/// Maximum number of hops to try.
const MAX_HOPS: u32 = 16;

/// Time limit to connect. The kernel retransmits a lost first packet after a second.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Returns the minimum number of hops with which a connection to a node can be opened. `None` if it
/// takes more than 16 hops, or if the address does not resolve.
pub(super) fn hops(address: &str, interface: Option<&str>) -> Option<u32> {
    let address = address.to_socket_addrs().ok()?.next()?;
    (1..=MAX_HOPS).find(|hops| is_reached(address, *hops, interface))
}

/// Returns true if a node answers a packet limited to `hops` hops. A refused connection is an
/// answer.
fn is_reached(address: SocketAddr, hops: u32, interface: Option<&str>) -> bool {
    let connected = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        match address {
            SocketAddr::V4(_) => socket.set_ttl_v4(hops)?,
            SocketAddr::V6(_) => socket.set_unicast_hops_v6(hops)?,
        }
        if let Some(name) = interface {
            socket.bind_device(Some(name.as_bytes()))?;
        }
        socket.connect_timeout(&address.into(), PATIENCE)
    };
    match connected() {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionRefused,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_machine_is_one_hop_from_itself() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let address = listener.local_addr().unwrap().to_string();
            assert_eq!(hops(&address, None), Some(1), "{address}");
            drop(listener);
            // Nothing listens: the machine itself refuses the connection.
            assert_eq!(hops(&address, None), Some(1), "{address}");
        }
        assert_eq!(hops("no address", None), None);
    }
}
