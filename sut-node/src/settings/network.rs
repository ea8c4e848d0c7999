//! Settings of the node's network.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::{bail, ensure};
use clap::ValueEnum;
use netdiv_contract::limits;
use netdiv_node_common::{process::ByteCount, words::Transport};
use netdiv_transport::{
    security::{ServerTls, ServerToken, TlsFiles},
    socket_address,
};
use serde::Serialize;

use crate::ground::{
    range::{bytes, within},
    serialized::is_some,
};

/// Heading of the options about encryption and trust.
const SECURITY: &str = "Security";

/// Keys of the node's network.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// Address to listen on
    ///
    /// gRPC uses the TCP port, QUIC the UDP port of that number. A link-local address needs its
    /// interface after a %: [fe80::1%eth0]:50051.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:50051")]
    pub listen: String,
    /// Transports to serve
    #[arg(long, value_name = "TRANSPORT", default_value = "both")]
    pub transport: Transports,
    /// The node's certificate and its chain, in PEM
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_certificate: Option<PathBuf>,
    /// Key of --tls-certificate, in PEM
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate of this authority, in PEM (mutual TLS)
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_client_ca: Option<PathBuf>,
    /// Accept only clients that know the token in this file
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub token_file: Option<PathBuf>,
    /// Serve without certificates, which is the default on the loopback interface
    ///
    /// gRPC is then in plaintext. QUIC is encrypted, but does not prove the identity of the node.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = SECURITY)]
    pub insecure: Option<bool>,
    /// Bytes that a client may send on a stream before they are read
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    #[arg(default_value = format!("{}MiB", limits::STREAM_WINDOW_BYTES >> 20))]
    pub receive_window_bytes: ByteCount,
    /// Maximum number of client connections, over both transports
    ///
    /// The node refuses further connections.
    // Each connection may hold bytes that are not admitted yet, as many as its receive window allows.
    #[arg(long, value_name = "CONNECTIONS", default_value_t = 64, hide_short_help = true)]
    pub max_connections: u32,
    /// QUIC: maximum UDP payload to try [default: 1452; on loopback 65000]
    ///
    /// Above 6550 there is no segmentation offload.
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub quic_mtu: Option<u16>,
}

/// Transports that a node serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transports {
    /// Only gRPC
    Grpc,
    /// Only QUIC
    Quic,
    /// Both, on ports with the same number
    Both,
}

impl Transports {
    /// Returns true if the transport is served.
    pub fn serves(self, transport: Transport) -> bool {
        match self {
            Self::Grpc => transport == Transport::Grpc,
            Self::Quic => transport == Transport::Quic,
            Self::Both => true,
        }
    }
}

/// Upper limit of the maximum number of connections. A process can rarely have more files open.
const MOST_CONNECTIONS: u32 = 1 << 16;

/// Network settings, after they were checked and the defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub struct Network {
    /// Address to listen on.
    #[serde(skip)]
    pub listen: SocketAddr,
    /// Transports that the node serves at this address.
    #[serde(rename = "transport")]
    pub transports: Transports,
    /// The node's certificate, and the authority that clients' certificates need, if any. `None`:
    /// gRPC is in plaintext, and QUIC does not prove the node's identity.
    #[serde(serialize_with = "is_some")]
    pub tls: Option<Arc<ServerTls>>,
    /// Token that clients must know; `None`: they need no token.
    #[serde(skip)]
    pub token: Option<Arc<ServerToken>>,
    /// Maximum number of bytes that a client may send on a stream before they are read.
    pub receive_window_bytes: u32,
    /// Maximum number of client connections, over both transports.
    pub max_connections: usize,
    /// Maximum UDP payload to try, in bytes; `None`: depends on the peer's address.
    pub quic_mtu: Option<u16>,
}

impl NetworkArgs {
    /// Checks the settings, reads the files and fills in the defaults.
    pub(crate) fn resolve(&self) -> anyhow::Result<Network> {
        let listen = address("listen", &self.listen)?;
        let files = TlsFiles {
            ca: self.tls_client_ca.clone(),
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
        };
        let any_file = files.ca.is_some() || files.certificate.is_some() || files.key.is_some();
        let insecure = self.insecure.unwrap_or(false);
        let tls = if any_file {
            ensure!(!insecure, "--insecure and certificates exclude each other");
            Some(Arc::new(ServerTls::load(files)?))
        } else if insecure || listen.ip().to_canonical().is_loopback() {
            None
        } else {
            bail!(
                "{listen} can be reached from other machines; give --tls-certificate and --tls-key (`loadgen-node certificates` \
                 creates them), or add --insecure to serve without authentication"
            );
        };
        Ok(Network {
            listen,
            transports: self.transport,
            tls,
            token: self.token_file.clone().map(ServerToken::load).transpose()?.map(Arc::new),
            receive_window_bytes: bytes(
                "receive-window-bytes",
                self.receive_window_bytes,
                limits::WINDOW_BYTES,
            )?,
            max_connections: within("max-connections", self.max_connections, 1..=MOST_CONNECTIONS)?
                as usize,
            quic_mtu: self
                .quic_mtu
                .map(|mtu| within("quic-mtu", mtu, limits::UDP_PAYLOAD_BYTES))
                .transpose()?,
        })
    }
}

pub(crate) fn address(key: &str, text: &str) -> anyhow::Result<SocketAddr> {
    socket_address(text).map_err(|why| anyhow::anyhow!("--{key} {text}: {why}"))
}

#[cfg(test)]
mod tests {
    use netdiv_node_common::process::parse_keys;

    use super::*;

    #[test]
    fn each_transport_can_be_served_alone() {
        for transport in Transport::value_variants() {
            let alone = Transports::from_str(transport.word(), false).unwrap();
            let served = Transport::value_variants().iter().filter(|t| alone.serves(**t));
            assert_eq!(served.collect::<Vec<_>>(), [transport]);
            assert!(Transports::Both.serves(*transport));
        }
        assert_eq!(Transports::value_variants().len(), Transport::value_variants().len() + 1);
    }

    #[test]
    fn a_node_listens_on_an_address_of_one_link() {
        let listen = |text: &str| {
            let given: NetworkArgs = parse_keys(["--listen", text, "--insecure"]).unwrap();
            given.resolve().map(|network| network.listen).map_err(|error| error.to_string())
        };
        let found = listen("[fe80::1%lo]:7").unwrap();
        assert!(matches!(found, SocketAddr::V6(found) if found.scope_id() > 0), "{found}");
        for (text, why) in [
            ("[fe80::1%nope]:7", "--listen [fe80::1%nope]:7: this machine has no interface nope"),
            ("localhost:7", "--listen localhost:7: not an address of the form IP:PORT"),
        ] {
            assert_eq!(listen(text).unwrap_err(), why);
        }
        let mapped: NetworkArgs = parse_keys(["--listen", "[::ffff:127.0.0.1]:7"]).unwrap();
        assert!(mapped.resolve().is_ok(), "it is on this machine");
    }
}
