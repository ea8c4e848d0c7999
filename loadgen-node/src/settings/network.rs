//! Settings of the nodes and the connections to them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use netdiv_contract::limits;
use netdiv_node_common::process::{ByteCount, CommandSettings, Keys, TimeSpan};
use netdiv_qdl::{NetworkSettings, OnThreadStart, Options, Settings, Transport};
use netdiv_transport::{
    discovery::{self, Nodes},
    security::{ClientTls, TlsFiles, Token, is_loopback},
};
use serde::Serialize;

use super::bounds::{at_least_one, bytes, time, usage, within};
use crate::RunError;

/// Treatment of DNS names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DnsNames {
    /// DNS names are looked up.
    LookUp,
    /// DNS names are only checked as text, and name no node: the command prints settings without
    /// using the network.
    Leave,
}

impl DnsNames {
    /// Returns the treatment of DNS names in a command with these settings. A command that only
    /// prints its settings does not look them up.
    pub(crate) fn of<T: Keys>(settings: &CommandSettings<T>) -> Self {
        if settings.only_prints() { Self::Leave } else { Self::LookUp }
    }
}

/// Maximum number of connections to a node, and of streams on each: sample ids have room for this
/// number of streams in a run.
const MOST_STREAMS: usize = 65_535;

/// Maximum number of I/O threads: more than any machine has cores for.
const MOST_THREADS: usize = 1024;

/// Heading of the options about encryption and trust.
const SECURITY: &str = "Security";

/// Keys of all commands that connect to nodes.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// SUT nodes: hosts, host lists such as rack[1-8]:50051, DNS names and files, named as in
    /// docs/OPERATING.md#name-the-nodes
    #[arg(long, value_name = "NODES")]
    pub nodes: Option<Vec<String>>,
    /// Port of nodes that are named without a port
    #[arg(long, value_name = "PORT", default_value_t = discovery::PORT)]
    pub nodes_port: u16,
    /// Required number of nodes. DNS names are looked up until as many are found, for at most
    /// --connect-timeout [default: as many as are found]
    #[arg(long, value_name = "N")]
    pub nodes_expected: Option<usize>,
    /// Transport of the messages
    #[arg(long, default_value_t)]
    pub transport: Transport,
    /// Number of connections to each node, which accepts 64 from all clients, or its
    /// --max-connections [default: 1]
    #[arg(long, value_name = "N")]
    pub connections: Option<usize>,
    /// Number of sample streams on each connection [default: 1]
    #[arg(long, value_name = "N")]
    pub streams: Option<usize>,
    /// Number of I/O threads, which serve the connections [default: 1]
    #[arg(long, value_name = "N")]
    pub io_threads: Option<usize>,
    /// Cores to pin the I/O threads to, in turn [default: any]
    #[arg(long, value_name = "CORES", value_delimiter = ',')]
    pub pin: Option<Vec<usize>>,
    /// Let the I/O threads poll instead of sleeping: lower latency, but each takes a whole core
    #[arg(long, num_args = 0..=1, default_missing_value = "true", hide_short_help = true)]
    pub busy_poll: Option<bool>,
    /// Certificates of the authority that signed the nodes' certificates, in PEM: turns TLS on
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_ca: Option<PathBuf>,
    /// This machine's certificate and its chain, in PEM, for nodes that require one
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_certificate: Option<PathBuf>,
    /// Key of --tls-certificate, in PEM
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_key: Option<PathBuf>,
    /// File with the token that the nodes require
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub token_file: Option<PathBuf>,
    /// Connect to other machines without TLS (gRPC), or without verifying their certificates (QUIC)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = SECURITY)]
    pub insecure: Option<bool>,
    /// Flow control: maximum number of bytes that a node may send on one stream before they are
    /// read
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    #[arg(default_value = format!("{}MiB", limits::STREAM_WINDOW_BYTES >> 20))]
    pub receive_window_bytes: ByteCount,
    /// QUIC: maximum UDP payload to try; above 6550 there is no segmentation offload [default:
    /// 1452; on loopback 65000]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub quic_mtu: Option<u16>,
    /// Time limit for connecting to a node
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    #[arg(default_value_t = Options::default().connect_timeout.into())]
    pub connect_timeout: TimeSpan,
    /// Time limit for a node to report its name or to acknowledge a flush
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    #[arg(default_value_t = NetworkSettings::default().control_timeout.into())]
    pub control_timeout: TimeSpan,
    /// Maximum time for which a connection may be silent before its node counts as lost
    #[arg(long, value_name = "TIME", default_value_t = Options::default().keepalive_timeout.into())]
    pub keepalive_timeout: TimeSpan,
}

impl NetworkArgs {
    /// Resolves the QDL's settings about the network. Reads certificates and token.
    pub(crate) fn resolve(&self, names: DnsNames) -> Result<Settings, RunError> {
        let network = NetworkSettings {
            options: self.options()?,
            control_timeout: time("control-timeout", self.control_timeout)?,
            ..Default::default()
        };
        let nodes = self.addresses(network.options.connect_timeout, names)?;
        let is_secure = network.options.tls.is_some();
        let stranger = nodes.iter().find(|address| !is_loopback(address));
        match (self.insecure.unwrap_or(false), stranger) {
            (true, _) if is_secure => return usage("--insecure and --tls-ca exclude each other"),
            (false, Some(address)) if !is_secure => {
                return usage(format!(
                    "{address} is on another machine; give --tls-ca, or --insecure to connect to it without TLS"
                ));
            }
            _ => {}
        }
        let cores = self.pin.clone().unwrap_or_default();
        netdiv_node_common::process::check_cores(&cores)
            .map_err(|error| RunError::Usage(format!("--pin: {error}")))?;
        let pin = move |thread| netdiv_node_common::process::pin(&cores, thread);
        let count = |key, given: Option<usize>, most| {
            let count = at_least_one(key, given.unwrap_or(1))?;
            within(key, count, 1..=most).map(|()| count)
        };
        Ok(Settings {
            network,
            connections_per_node: count("connections", self.connections, MOST_STREAMS)?,
            streams_per_connection: count("streams", self.streams, MOST_STREAMS)?,
            io_threads: count("io-threads", self.io_threads, MOST_THREADS)?,
            busy_poll: self.busy_poll.unwrap_or(false),
            on_thread_start: Some(OnThreadStart(Arc::new(pin))),
            ..Settings::new(nodes)
        })
    }

    /// Returns the addresses of the nodes. Looks up DNS names until they are found, for at most
    /// `patience`.
    fn addresses(&self, patience: Duration, names: DnsNames) -> Result<Vec<String>, RunError> {
        let expected =
            self.nodes_expected.map(|n| at_least_one("nodes-expected", n)).transpose()?;
        let (option, named) = ("--nodes", self.nodes.as_deref().unwrap_or_default());
        let nodes = Nodes { option, named, port: self.nodes_port, expected, patience };
        let found = match names {
            DnsNames::LookUp => nodes.discover(),
            DnsNames::Leave => nodes.addresses(),
        };
        found.map_err(RunError::invalid)
    }

    fn options(&self) -> Result<Options, RunError> {
        let options = Options {
            transport: self.transport,
            tls: self.tls()?,
            token: self
                .token_file
                .as_deref()
                .map(Token::read)
                .transpose()
                .map_err(RunError::invalid)?,
            window_bytes: bytes(
                "receive-window-bytes",
                self.receive_window_bytes,
                limits::WINDOW_BYTES,
            )?,
            quic_mtu: self.quic_mtu,
            connect_timeout: time("connect-timeout", self.connect_timeout)?,
            keepalive_timeout: time("keepalive-timeout", self.keepalive_timeout)?,
            ..Options::default()
        };
        if let Some(mtu) = options.quic_mtu {
            within("quic-mtu", mtu, limits::UDP_PAYLOAD_BYTES)?;
        }
        Ok(options)
    }

    fn tls(&self) -> Result<Option<ClientTls>, RunError> {
        if self.tls_ca.is_none() {
            if self.tls_certificate.is_some() || self.tls_key.is_some() {
                return usage("--tls-certificate and --tls-key need --tls-ca: it turns TLS on");
            }
            return Ok(None);
        }
        let files = TlsFiles {
            ca: self.tls_ca.clone(),
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
        };
        ClientTls::load(&files).map(Some).map_err(RunError::invalid)
    }
}
