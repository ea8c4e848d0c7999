//! Ports of the loopback interface.

use std::{
    net::{TcpListener, UdpSocket},
    process,
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
    for _ in 0..PORTS {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let offset = begin.wrapping_add(call.into()) % u32::from(PORTS);
        let address = format!("127.0.0.1:{}", u32::from(FIRST) + offset);
        if TcpListener::bind(&address).is_ok() && UdpSocket::bind(&address).is_ok() {
            return address;
        }
    }
    panic!("no port from {FIRST} on is free");
}
