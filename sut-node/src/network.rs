//! Settings of the node's network side, and the sockets.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    ops::RangeInclusive,
    path::PathBuf,
    sync::Arc,
};

use netdiv_proto::limits;
use netdiv_transport::security::{SecurityError, ServerTls, ServerToken, TlsFiles};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// Keys of the network side.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct NetworkArgs {
    /// Address to listen on: gRPC on the TCP port, QUIC on the UDP port of that number
    /// [default: 127.0.0.1:50051]
    #[arg(long, value_name = "IP:PORT")]
    pub listen: Option<String>,
    /// What to serve: grpc, quic or both [default: both]
    #[arg(long)]
    pub transport: Option<String>,
    /// The node's certificate and its chain, in PEM
    #[arg(long, value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Take only clients with a certificate of this authority (mutual TLS), in PEM
    #[arg(long, value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// Take only clients that know the token in this file
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Serve without certificates: gRPC in plaintext, QUIC encrypted but without proof of who the node is. On the
    /// loopback interface that needs no asking
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub insecure: Option<bool>,
    /// What a client may send on one stream before it is read, in bytes [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    pub receive_window_bytes: Option<u32>,
    /// Connections at the same time, over both transports; more are refused [default: 64]
    #[arg(long, value_name = "CONNECTIONS")]
    pub max_connections: Option<u32>,
    /// QUIC: longest UDP payload to try; segmentation offload is off above 6550 [default: 1452; on loopback 65000]
    #[arg(long, value_name = "BYTES")]
    pub quic_mtu: Option<u16>,
}

/// Connections at the same time: each may hold as many bytes as its receive window before anybody has admitted them.
const CONNECTIONS: u32 = 64;

/// The most that can be chosen; a process can rarely have more files open.
const MOST_CONNECTIONS: u32 = 1 << 16;

/// Network settings that fit together.
#[derive(Debug, Clone)]
pub struct Network {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Whether gRPC is served.
    pub grpc: bool,
    /// Whether QUIC is served.
    pub quic: bool,
    /// Certificate and demands; `None`: plaintext.
    pub tls: Option<Arc<ServerTls>>,
    /// The token that clients must know.
    pub token: Option<Arc<ServerToken>>,
    /// What a client may send on one stream before it is read, in bytes.
    pub receive_window_bytes: u32,
    /// Connections at the same time.
    pub max_connections: usize,
    /// Longest UDP payload to try; `None`: by the peer's address.
    pub quic_mtu: Option<u16>,
}

/// Why network settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// Not one of the words.
    #[error("--transport {0}: choose one of grpc, quic, both")]
    Transport(String),
    /// Not an address.
    #[error("--{key} {value}: not an address of the form IP:PORT")]
    Address {
        /// The key.
        key: &'static str,
        /// The refused value.
        value: String,
    },
    /// Certificates, keys or tokens cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// Strangers could talk to the node, and nobody said that they may.
    #[error(
        "{0} can be reached from other machines; give --tls-certificate and --tls-key (`loadgen-node certificates` \
         makes some), or say --insecure to serve without proof of who anybody is"
    )]
    Open(SocketAddr),
    /// Both were said.
    #[error("--insecure and certificates exclude each other")]
    SecureAndInsecure,
    /// A size that the transport cannot take.
    #[error("--{key} {value}: must be from {least} to {most}")]
    Range {
        /// The key.
        key: &'static str,
        /// The refused value.
        value: u32,
        /// The smallest value that would do.
        least: u32,
        /// The largest value that would do.
        most: u32,
    },
}

impl NetworkArgs {
    /// Checks the settings, reads the files and fills in the defaults.
    pub(crate) fn resolve(&self) -> Result<Network, NetworkError> {
        let listen = address("listen", self.listen.as_deref().unwrap_or("127.0.0.1:50051"))?;
        let (grpc, quic) = match self.transport.as_deref().unwrap_or("both") {
            "grpc" => (true, false),
            "quic" => (false, true),
            "both" => (true, true),
            other => return Err(NetworkError::Transport(other.into())),
        };
        let files = TlsFiles {
            ca: self.tls_client_ca.clone(),
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
        };
        let any_file = files.ca.is_some() || files.certificate.is_some() || files.key.is_some();
        let insecure = self.insecure.unwrap_or(false);
        let tls = match any_file {
            true if insecure => return Err(NetworkError::SecureAndInsecure),
            true => Some(Arc::new(ServerTls::load(files)?)),
            false if insecure || listen.ip().is_loopback() => None,
            false => return Err(NetworkError::Open(listen)),
        };
        let window = self.receive_window_bytes.unwrap_or(limits::STREAM_WINDOW_BYTES);
        Ok(Network {
            listen,
            grpc,
            quic,
            tls,
            token: self.token_file.clone().map(ServerToken::load).transpose()?.map(Arc::new),
            receive_window_bytes: within("receive-window-bytes", window, limits::WINDOW_BYTES)?,
            max_connections: within(
                "max-connections",
                self.max_connections.unwrap_or(CONNECTIONS),
                1..=MOST_CONNECTIONS,
            )? as usize,
            quic_mtu: self
                .quic_mtu
                .map(|mtu| within("quic-mtu", mtu, limits::UDP_PAYLOAD_BYTES))
                .transpose()?,
        })
    }
}

pub(crate) fn address(key: &'static str, text: &str) -> Result<SocketAddr, NetworkError> {
    text.parse().map_err(|_| NetworkError::Address { key, value: text.into() })
}

fn within<N: PartialOrd + Copy + Into<u32>>(
    key: &'static str,
    value: N,
    range: RangeInclusive<N>,
) -> Result<N, NetworkError> {
    match range.contains(&value) {
        true => Ok(value),
        false => {
            let (least, most) = ((*range.start()).into(), (*range.end()).into());
            Err(NetworkError::Range { key, value: value.into(), least, most })
        }
    }
}

/// The node's open sockets.
#[derive(Debug)]
pub struct Sockets {
    pub(crate) tcp: Option<TcpListener>,
    pub(crate) udp: Option<UdpSocket>,
    pub(crate) address: SocketAddr,
}

/// Attempts to find a port that is free for TCP and for UDP.
const ATTEMPTS: usize = 16;

impl Sockets {
    /// Opens what is to be served. With port 0, both transports get the same free port.
    pub async fn bind(network: &Network) -> io::Result<Self> {
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
        if network.grpc {
            let listener = TcpListener::bind(address).await?;
            address = listener.local_addr()?;
            tcp = Some(listener);
        }
        let mut udp = None;
        if network.quic {
            let socket = netdiv_transport::quic::bind(address)?;
            address = socket.local_addr()?;
            udp = Some(socket);
        }
        Ok(Self { tcp, udp, address })
    }
}
