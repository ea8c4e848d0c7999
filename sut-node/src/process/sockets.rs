//! Sockets that the node listens on.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
};

use netdiv_node_common::words::Transport;
use tokio::net::TcpListener;

use crate::settings::network::Network;

/// Open sockets of the node: `tcp` for gRPC and `udp` for QUIC, or `None` if the node does not
/// serve that transport. `address` is their address, with the port that they have.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) tcp: Option<TcpListener>,
    pub(crate) udp: Option<UdpSocket>,
    pub(crate) address: SocketAddr,
}

/// Number of attempts to find a port that is free for TCP and for UDP.
const ATTEMPTS: usize = 16;

impl Sockets {
    /// Opens a socket for each transport that the node serves: a TCP socket for gRPC, a UDP socket
    /// for QUIC. If the settings have port 0, looks for a port that is free for all these sockets,
    /// and opens them on this port.
    pub(crate) async fn bind(network: &Network) -> io::Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::bind_once(network).await {
                Err(_) if network.listen.port() == 0 && attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    async fn bind_once(network: &Network) -> io::Result<Self> {
        let mut address = network.listen;
        let mut tcp = None;
        if network.transports.serves(Transport::Grpc) {
            let listener = TcpListener::bind(address).await?;
            address = listener.local_addr()?;
            tcp = Some(listener);
        }
        let mut udp = None;
        if network.transports.serves(Transport::Quic) {
            let socket = netdiv_transport::quic::bind(address)?;
            address = socket.local_addr()?;
            udp = Some(socket);
        }
        Ok(Self { tcp, udp, address })
    }
}
