//! Options of a client's connection to a node. Egress options: the network interface, the code
//! point and the congestion control with which the client sends packets.

use std::{net::SocketAddr, time::Duration};

use netdiv_contract::limits;
use netdiv_node_common::words::Transport;
use socket2::{SockRef, Socket};
use tokio::net::TcpSocket;

use crate::security::{ClientTls, Token};

/// Options of a client's connection.
#[derive(Debug, Clone)]
pub struct Options {
    /// Transport of the connection: gRPC or QUIC.
    pub transport: Transport,
    /// Maximum time of one attempt to connect.
    pub connect_timeout: Duration,
    /// Interval at which the client sends keepalive pings.
    pub keepalive_interval: Duration,
    /// Maximum time for the answer to a ping (gRPC), or of silence on a connection (QUIC), before
    /// the connection counts as lost.
    pub keepalive_timeout: Duration,
    /// Maximum number of bytes that a node may send on one stream before the client reads them.
    pub window_bytes: u32,
    /// Longest UDP payload to try, in bytes, QUIC only; `None`: `quic::default_mtu`.
    pub quic_mtu: Option<u16>,
    /// Interface, code point and congestion control with which the client sends packets.
    pub egress: EgressOptions,
    /// TLS settings: the authority that the client trusts, and its own certificate. `None`:
    /// plaintext (gRPC), or encryption without authentication of the node (QUIC).
    pub tls: Option<ClientTls>,
    /// Token that the client presents in each call; `None`: calls have no token.
    pub token: Option<Token>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            connect_timeout: Duration::from_secs(10),
            keepalive_interval: Duration::from_secs(1),
            // A busy node answers between two batches; a lost machine never answers.
            keepalive_timeout: Duration::from_secs(3),
            window_bytes: limits::STREAM_WINDOW_BYTES,
            quic_mtu: None,
            egress: EgressOptions::default(),
            tls: None,
            token: None,
        }
    }
}

/// Congestion controls that a client can choose for QUIC; quinn implements them.
pub const CONGESTION_CONTROLS: [&str; 3] = ["cubic", "new-reno", "bbr"];

/// Maximum code point. It has six bits of a byte in the IP header; the other two bits are for ECN.
const MOST_DSCP: u8 = 63;

/// Valid lengths of an interface's name, in bytes. The kernel treats an empty name as any
/// interface.
const INTERFACE_BYTES: std::ops::RangeInclusive<usize> = 1..=15;

/// Egress options of a client. The system chooses where an option is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressOptions {
    /// Name of the egress interface, to which sockets are bound: answers have to arrive on it, too.
    pub interface: Option<String>,
    /// Differentiated services code point of each packet (RFC 2474), from 0 to 63; gRPC only.
    pub dscp: Option<u8>,
    /// Name of the congestion control: for gRPC one that the kernel has, for QUIC one of
    /// [`CONGESTION_CONTROLS`].
    pub congestion_control: Option<String>,
}

impl EgressOptions {
    /// Checks the options as far as possible without a socket.
    pub fn check(&self, transport: Transport) -> Result<(), String> {
        match (transport, self.dscp) {
            (Transport::Quic, Some(_)) => {
                return Err(
                    "--dscp: QUIC writes that byte of each packet itself, for ECN; use gRPC".into(),
                );
            }
            (_, Some(dscp)) if dscp > MOST_DSCP => {
                return Err(format!("--dscp {dscp}: must be from 0 to {MOST_DSCP}"));
            }
            _ => {}
        }
        let interface = self.interface.as_ref();
        if let Some(name) = interface.filter(|name| !INTERFACE_BYTES.contains(&name.len())) {
            return Err(format!(
                "--interface `{}`: an interface name has 1 to 15 bytes",
                name.escape_debug()
            ));
        }
        match &self.congestion_control {
            Some(name)
                if transport == Transport::Quic
                    && !CONGESTION_CONTROLS.contains(&name.as_str()) =>
            {
                let known = CONGESTION_CONTROLS.join(", ");
                Err(format!("--congestion-control {name}: with QUIC choose one of {known}"))
            }
            _ => Ok(()),
        }
    }

    /// Applies the options to a TCP socket, before it is connected to `peer`. The error names the
    /// option that failed.
    pub(crate) fn apply(&self, socket: &TcpSocket, peer: &SocketAddr) -> Result<(), String> {
        let open = SockRef::from(socket);
        self.bind(&open)?;
        if let Some(dscp) = self.dscp {
            let byte = u32::from(dscp) << 2;
            match peer {
                SocketAddr::V4(_) => open.set_tos_v4(byte),
                SocketAddr::V6(_) => open.set_tclass_v6(byte),
            }
            .map_err(|error| format!("--dscp {dscp}: {error}"))?;
        }
        if let Some(name) = &self.congestion_control {
            open.set_tcp_congestion(name.as_bytes()).map_err(|error| {
                let name = name.escape_debug();
                format!(
                    "--congestion-control {name}: {error}; /proc/sys/net/ipv4/tcp_allowed_congestion_control lists the valid names"
                )
            })?;
        }
        Ok(())
    }

    /// Returns the reason why no peer has answered a connection attempt.
    pub(crate) fn no_answer(&self) -> String {
        match &self.interface {
            None => "no answer".into(),
            Some(interface) => format!(
                "no answer on {0}; --interface {0} binds to that device, so answers must arrive on it, too: check the route \
                 back from there, or omit --interface",
                interface.escape_debug()
            ),
        }
    }

    /// Restricts a socket to the egress interface, if one is set.
    pub(crate) fn bind(&self, socket: &Socket) -> Result<(), String> {
        let Some(interface) = &self.interface else { return Ok(()) };
        socket.bind_device(Some(interface.as_bytes())).map_err(|error| {
            let interface = interface.escape_debug();
            format!("--interface {interface}: {error}; `ip link` lists the interfaces")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transport_cannot_do_is_refused() {
        let dscp = |dscp| EgressOptions { dscp: Some(dscp), ..EgressOptions::default() };
        let control = |name: &str| EgressOptions {
            congestion_control: Some(name.into()),
            ..EgressOptions::default()
        };
        let interface =
            |name: &str| EgressOptions { interface: Some(name.into()), ..EgressOptions::default() };
        for (way, transport, words) in [
            (dscp(64), Transport::Grpc, "--dscp 64: must be from 0 to 63"),
            (dscp(0), Transport::Quic, "use gRPC"),
            (interface(""), Transport::Grpc, "--interface ``: an interface name has 1 to 15 bytes"),
            (
                interface("an-interface-of-17"),
                Transport::Grpc,
                "an interface name has 1 to 15 bytes",
            ),
            (control("reno"), Transport::Quic, "choose one of cubic, new-reno, bbr"),
        ] {
            let refusal = way.check(transport).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
        for way in [dscp(46), control("reno"), EgressOptions::default()] {
            assert_eq!(way.check(Transport::Grpc), Ok(()));
        }
        assert_eq!(control("bbr").check(Transport::Quic), Ok(()));
    }

    #[tokio::test]
    async fn what_the_system_does_not_have_is_named() {
        let peer = "127.0.0.1:1".parse().unwrap();
        let interface =
            EgressOptions { interface: Some("none0".into()), ..EgressOptions::default() };
        let control =
            EgressOptions { congestion_control: Some("none".into()), ..EgressOptions::default() };
        let socket = TcpSocket::new_v4().unwrap();
        for (way, words) in
            [(interface, "--interface none0: "), (control, "--congestion-control none: ")]
        {
            let refusal = way.apply(&socket, &peer).unwrap_err();
            assert!(refusal.starts_with(words), "{refusal}");
        }
        let way = EgressOptions {
            interface: Some("lo".into()),
            dscp: Some(46),
            congestion_control: Some("reno".into()),
        };
        // Some machines have no IPv6.
        let sockets =
            [(TcpSocket::new_v4(), peer), (TcpSocket::new_v6(), "[::1]:1".parse().unwrap())];
        for (socket, peer) in sockets {
            let Ok(socket) = socket else { continue };
            way.apply(&socket, &peer).unwrap();
            let open = SockRef::from(&socket);
            assert_eq!(open.device().unwrap().as_deref(), Some(&b"lo"[..]));
            assert!(open.tcp_congestion().unwrap().starts_with(b"reno"));
            let byte = if peer.is_ipv4() { open.tos_v4() } else { open.tclass_v6() };
            assert_eq!(byte.unwrap(), 46 << 2);
        }
    }
}
