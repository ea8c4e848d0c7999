//! Sockets and settings of QUIC that both client and node use.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::{Arc, Once},
    time::Duration,
};

use netdiv_contract::limits::UDP_PAYLOAD_BYTES;
use netdiv_node_common::resources::memory;
use parking_lot::Mutex;
use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, TokioRuntime, TransportConfig,
    VarInt,
    congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig},
};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tracing::info;

use crate::options::EgressOptions;

/// ALPN of the wire contract, version 1.
pub(super) const ALPN: &[u8] = b"netdiv/1";

/// Size of a socket's buffer that [`bind`] requests in each direction, in bytes: 6 ms at 10 Gb/s.
pub const SOCKET_BUFFER_BYTES: usize = 8 << 20;

/// Longest UDP payload in an Ethernet frame of 1,500 bytes, in bytes, with some room for tunnels.
const ETHERNET_MTU: u16 = 1452;

/// Longest UDP payload that the loopback interface carries, in bytes, rounded down.
const LOOPBACK_MTU: u16 = 65_000;

/// Number of datagrams that quinn sends with one system call (segmentation offload), at most 64 KiB
/// together.
const SEGMENTS: u16 = 10;

/// Returns the longest UDP payload to try on the path to this address, in bytes.
pub fn default_mtu(peer: IpAddr) -> u16 {
    if peer.to_canonical().is_loopback() { LOOPBACK_MTU } else { ETHERNET_MTU }
}

/// Settings of one end of a QUIC connection.
pub(super) struct ConnectionSettings {
    pub(super) mtu: u16,
    pub(super) window_bytes: u32,
    pub(super) connection_window_bytes: u32,
    /// Maximum number of concurrent calls that the peer may open.
    pub(super) calls: u32,
    pub(super) keepalive_interval: Duration,
    pub(super) keepalive_timeout: Duration,
    /// Congestion control; `None`: quinn's default.
    pub(super) congestion_control: Option<Congestion>,
}

/// Factory that creates the congestion control of each connection.
pub(super) type Congestion = Arc<dyn ControllerFactory + Send + Sync>;

/// Returns the congestion control with this name; `None` if the name is not in
/// `CONGESTION_CONTROLS`.
pub(super) fn congestion_control(name: &str) -> Option<Congestion> {
    Some(match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "new-reno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return None,
    })
}

impl ConnectionSettings {
    pub(super) fn transport(&self) -> Arc<TransportConfig> {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(self.mtu);
        // Several pings may be lost before the connection counts as lost.
        let interval = self.keepalive_interval.min(self.keepalive_timeout / 3);
        let mut config = TransportConfig::default();
        config
            .max_concurrent_bidi_streams(self.calls.into())
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .datagram_receive_buffer_size(None)
            .stream_receive_window(self.window_bytes.into())
            .receive_window(self.connection_window_bytes.into())
            .send_window(self.window_bytes.into())
            .mtu_discovery_config(Some(discovery))
            // The system would refuse to send several longer datagrams with one call, and they
            // would be lost silently.
            .enable_segmentation_offload(self.mtu <= 65_507 / SEGMENTS)
            .keep_alive_interval(Some(interval))
            // The conversion fails beyond 2^62 ms, which is no limit in practice.
            .max_idle_timeout(IdleTimeout::try_from(self.keepalive_timeout).ok());
        if let Some(congestion_control) = &self.congestion_control {
            config.congestion_controller_factory(congestion_control.clone());
        }
        Arc::new(config)
    }
}

/// Opens a UDP socket with large buffers.
pub fn bind(local: SocketAddr) -> io::Result<UdpSocket> {
    bind_egress(local, &EgressOptions::default())
}

/// Like [`bind`], but with the egress options of a client.
pub(super) fn bind_egress(local: SocketAddr, way_out: &EgressOptions) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    way_out.bind(&socket).map_err(io::Error::other)?;
    if local.is_ipv6() && local.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&local.into())?;
    socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES)?;
    socket.set_send_buffer_size(SOCKET_BUFFER_BYTES)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Returns the size of a socket's receive buffer, in bytes.
pub(super) fn receive_buffer_bytes(socket: &UdpSocket) -> io::Result<usize> {
    // Linux reports twice the size.
    Ok(SockRef::from(socket).recv_buffer_size()? / 2)
}

/// Logs once that buffers of `given` bytes are smaller than requested. A node calls it when a
/// client connects over QUIC, because a node without such clients does not need them.
pub(super) fn note_small_buffers(given: usize) {
    static SAID: Once = Once::new();
    if given < SOCKET_BUFFER_BYTES {
        SAID.call_once(|| {
        info!(
            given,
            wanted = SOCKET_BUFFER_BYTES,
            "small socket buffers; for QUIC at full rate raise net.core.rmem_max and net.core.wmem_max"
        );
        });
    }
}

/// Number of bytes that quinn reserves for one receive operation of a socket: 32 times 64 datagrams
/// that the kernel has joined. Few of these bytes are ever used.
const RECEIVE_BYTES: u64 = *UDP_PAYLOAD_BYTES.end() as u64 * 64 * 32;

/// Opens a QUIC endpoint on a socket: for a node with `server`, otherwise for a client. Fails if
/// the memory that quinn reserves exceeds the limits of this process.
pub(super) fn open(socket: UdpSocket, server: Option<quinn::ServerConfig>) -> io::Result<Endpoint> {
    /// Keeps another socket from taking the memory between check and use.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock();
    memory::check_limits(RECEIVE_BYTES)
        .map_err(|error| io::Error::other(format!("QUIC: {error}; gRPC needs less")))?;
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(*UDP_PAYLOAD_BYTES.end()).map_err(io::Error::other)?;
    Endpoint::new(config, server, socket, Arc::new(TokioRuntime))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CONGESTION_CONTROLS;

    #[test]
    fn each_congestion_control_is_there() {
        assert!(CONGESTION_CONTROLS.iter().all(|name| congestion_control(name).is_some()));
        assert!(congestion_control("reno").is_none());
    }
}
