//! How what a client sends leaves this machine, where the system is not to choose.

use std::{io, net::SocketAddr};

use netdiv_words::Transport;
use socket2::{SockRef, Socket};
use tokio::net::TcpSocket;

/// What quinn has of it.
pub const CONGESTION_CONTROLS: [&str; 3] = ["cubic", "new-reno", "bbr"];

/// Greatest code point: six bits of the byte; the other two are for ECN.
const MOST_DSCP: u8 = 63;

/// What is chosen of the way out of this machine; what is `None`, the system chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WayOut {
    /// Name of the network interface.
    pub interface: Option<String>,
    /// Differentiated services code point of each packet (RFC 2474), from 0 to 63; gRPC only.
    pub dscp: Option<u8>,
    /// Congestion control: with gRPC one of the kernel's, with QUIC one of [`CONGESTION_CONTROLS`].
    pub congestion_control: Option<String>,
}

impl WayOut {
    /// Checks what can be checked without a socket.
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

    /// A TCP socket for that peer.
    pub(crate) fn tcp(&self, peer: &SocketAddr) -> io::Result<TcpSocket> {
        let socket = if peer.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        let open = SockRef::from(&socket);
        self.bind(&open)?;
        if let Some(dscp) = self.dscp {
            let byte = u32::from(dscp) << 2;
            match peer {
                SocketAddr::V4(_) => open.set_tos_v4(byte),
                SocketAddr::V6(_) => open.set_tclass_v6(byte),
            }
            .map_err(|error| about("--dscp", &dscp.to_string(), &error))?;
        }
        if let Some(name) = &self.congestion_control {
            open.set_tcp_congestion(name.as_bytes()).map_err(|error| {
                let hint = "/proc/sys/net/ipv4/tcp_allowed_congestion_control lists what there is";
                about(
                    "--congestion-control",
                    name,
                    &io::Error::new(error.kind(), format!("{error}; {hint}")),
                )
            })?;
        }
        Ok(socket)
    }

    /// Lets a socket use the interface alone.
    pub(crate) fn bind(&self, socket: &Socket) -> io::Result<()> {
        let Some(interface) = &self.interface else { return Ok(()) };
        let bound = socket.bind_device(Some(interface.as_bytes()));
        bound.map_err(|error| about("--interface", interface, &error))
    }
}

fn about(option: &str, value: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{option} {}: {error}", value.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transport_cannot_do_is_refused() {
        let dscp = |dscp| WayOut { dscp: Some(dscp), ..WayOut::default() };
        let control =
            |name: &str| WayOut { congestion_control: Some(name.into()), ..WayOut::default() };
        for (way, transport, words) in [
            (dscp(64), Transport::Grpc, "--dscp 64: must be from 0 to 63"),
            (dscp(0), Transport::Quic, "use gRPC"),
            (control("reno"), Transport::Quic, "choose one of cubic, new-reno, bbr"),
        ] {
            let refusal = way.check(transport).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
        for way in [dscp(46), control("reno"), WayOut::default()] {
            assert_eq!(way.check(Transport::Grpc), Ok(()));
        }
        assert_eq!(control("bbr").check(Transport::Quic), Ok(()));
    }

    #[tokio::test]
    async fn what_the_system_does_not_have_is_named() {
        let peer = "127.0.0.1:1".parse().unwrap();
        let interface = WayOut { interface: Some("none0".into()), ..WayOut::default() };
        let control = WayOut { congestion_control: Some("none".into()), ..WayOut::default() };
        for (way, words) in
            [(interface, "--interface none0: "), (control, "--congestion-control none: ")]
        {
            let refusal = way.tcp(&peer).unwrap_err().to_string();
            assert!(refusal.starts_with(words), "{refusal}");
        }
        let way = WayOut {
            interface: Some("lo".into()),
            dscp: Some(46),
            congestion_control: Some("reno".into()),
        };
        for peer in [peer, "[::1]:1".parse().unwrap()] {
            let socket = way.tcp(&peer).unwrap();
            let open = SockRef::from(&socket);
            assert_eq!(open.device().unwrap().as_deref(), Some(&b"lo"[..]));
            assert_eq!(open.tcp_congestion().unwrap().strip_suffix(&[0; 12]), Some(&b"reno"[..]));
            let byte = if peer.is_ipv4() { open.tos_v4() } else { open.tclass_v6() };
            assert_eq!(byte.unwrap(), 46 << 2);
        }
    }
}
