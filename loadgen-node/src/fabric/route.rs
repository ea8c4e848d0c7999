//! Which interface leads to a node, and what it says it can do.

use std::{
    fs,
    net::{IpAddr, ToSocketAddrs as _, UdpSocket},
};

use super::report::Route;

/// The way to an address. What cannot be read is `None`, never guessed.
pub(super) fn to(address: &str, node: &str) -> Route {
    let local = local_address(address);
    let interface = local.and_then(interface_of);
    let read = |file: &str| {
        let path = format!("/sys/class/net/{}/{file}", interface.as_ref()?);
        fs::read_to_string(path).ok()?.trim().parse::<i64>().ok()
    };
    Route {
        node: node.into(),
        address: address.into(),
        local_address: local.map(|ip| ip.to_string()),
        // Interfaces without a speed say -1, or nothing.
        speed_mbit_per_second: read("speed").and_then(|speed| u64::try_from(speed).ok()),
        mtu_bytes: read("mtu").and_then(|mtu| u64::try_from(mtu).ok()),
        interface,
    }
}

/// The address that this machine sends from. Connecting a UDP socket sends nothing.
fn local_address(address: &str) -> Option<IpAddr> {
    let peer = address.to_socket_addrs().ok()?.next()?;
    let any: IpAddr = if peer.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(peer).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn interface_of(local: IpAddr) -> Option<String> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    interfaces.into_iter().find(|interface| interface.ip() == local).map(|found| found.name)
}
