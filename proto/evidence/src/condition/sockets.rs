//! What the kernel lets sockets have, from `/proc/sys/net`.

use crate::System;

/// Limits of sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketLimits {
    /// `net.core.rmem_max`: the longest receive buffer that a program can ask for, in bytes.
    pub receive_max: Option<u64>,
    /// `net.core.wmem_max`: the same of send buffers.
    pub send_max: Option<u64>,
    /// The last of `net.ipv4.tcp_rmem`: how far the kernel lets a TCP receive buffer grow, in bytes.
    pub tcp_receive_max: Option<u64>,
    /// The same of send buffers, `net.ipv4.tcp_wmem`.
    pub tcp_send_max: Option<u64>,
    /// `net.core.somaxconn`: connections that may wait until a program accepts them.
    pub waiting_max: Option<u64>,
}

impl System {
    pub(super) fn socket_limits(&self) -> SocketLimits {
        let number = |name: &str| self.read(&format!("proc/sys/net/{name}"))?.parse().ok();
        // Least, default and most.
        let most = |name: &str| {
            let text = self.read(&format!("proc/sys/net/ipv4/{name}"))?;
            let sizes: Vec<u64> = text.split_whitespace().map_while(|n| n.parse().ok()).collect();
            <[u64; 3]>::try_from(sizes).ok().map(|[_, _, most]| most)
        };
        SocketLimits {
            receive_max: number("core/rmem_max"),
            send_max: number("core/wmem_max"),
            tcp_receive_max: most("tcp_rmem"),
            tcp_send_max: most("tcp_wmem"),
            waiting_max: number("core/somaxconn"),
        }
    }
}
