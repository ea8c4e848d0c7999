//! Ports of the loopback interface.

use std::{
    collections::HashSet,
    fs, process,
    sync::atomic::{AtomicU16, Ordering},
};

/// First port. The range lies below the ports that Linux assigns by default, so that no other
/// socket gets a port between its choice and its use.
const FIRST: u16 = 10_000;
const PORTS: u16 = 20_000;

/// Address without a listener: the system never assigns this port, and no current service uses it.
pub const CLOSED: &str = "127.0.0.1:1";

/// Returns an address that is free for TCP and UDP, a different address for each call.
///
/// # Panics
///
/// Panics when no port is free.
pub fn free_address() -> String {
    static CALLS: AtomicU16 = AtomicU16::new(0);
    // Test programs that run in parallel begin at different ports.
    let begin = process::id().wrapping_mul(97);
    let used = used_ports();
    for _ in 0..PORTS {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let offset = begin.wrapping_add(call.into()) % u32::from(PORTS);
        let port = u32::from(FIRST) + offset;
        if !used.contains(&port) {
            return format!("127.0.0.1:{port}");
        }
    }
    panic!("no port from {FIRST} on is free");
}

/// Returns the local ports of all sockets of this machine. A trial bind would tell the same, but a
/// process that another thread starts at this moment inherits the socket until its `exec`, and
/// keeps the port.
fn used_ports() -> HashSet<u32> {
    let table = |name| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(table);
    let sockets = tables.iter().flat_map(|table| table.lines().skip(1));
    let port = |socket: &str| {
        let (_, port) = socket.split_whitespace().nth(1)?.rsplit_once(':')?;
        u32::from_str_radix(port, 16).ok()
    };
    sockets.filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_uses_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(used_ports().contains(&port.into()));
    }

    #[test]
    fn each_call_has_another_address() {
        assert_ne!(free_address(), free_address());
    }
}
