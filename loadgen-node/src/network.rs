//! Settings of everything that connects to nodes.

use std::{fmt::Display, ops::RangeInclusive, path::PathBuf, sync::Arc, time::Duration};

use netdiv_proto::limits;
use netdiv_qdl::{NetworkSettings, OnThreadStart, Options, Settings, Transport};
use netdiv_transport::security::{ClientTls, TlsFiles, Token, is_loopback};
use serde::{Deserialize, Serialize};

use crate::{RunError, args::choose};

/// Keys of everything that connects to nodes.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct NetworkArgs {
    /// The SUT nodes
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub nodes: Option<Vec<String>>,
    /// grpc or quic [default: grpc]
    #[arg(long)]
    pub transport: Option<String>,
    /// Connections to each node [default: 1]
    #[arg(long, value_name = "N")]
    pub connections: Option<usize>,
    /// Streams of samples on each connection [default: 1]
    #[arg(long, value_name = "N")]
    pub streams: Option<usize>,
    /// Threads that serve the connections [default: 1]
    #[arg(long, value_name = "N")]
    pub io_threads: Option<usize>,
    /// Cores that these threads are bound to, in turn [default: any]
    #[arg(long, value_name = "CORES", value_delimiter = ',')]
    pub pin: Option<Vec<usize>>,
    /// Let these threads poll instead of sleeping: lower latency, a whole core for each
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub busy_poll: Option<bool>,
    /// Certificates of the authority that vouches for the nodes, in PEM: turns TLS on
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Own certificate and its chain, in PEM, for nodes that ask for one
    #[arg(long, value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// The token that the nodes ask for
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Talk to other machines without TLS (gRPC), or without proof of who they are (QUIC)
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub insecure: Option<bool>,
    /// What a node may send on one stream before it is read, in bytes [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    pub receive_window_bytes: Option<u32>,
    /// QUIC: longest UDP payload to try; segmentation offload is off above 6550 [default: 1452; on loopback 65000]
    #[arg(long, value_name = "BYTES")]
    pub quic_mtu: Option<u16>,
    /// How long to try to reach a node, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    pub connect_timeout_ms: Option<u64>,
    /// How long a node may take to say its name or to acknowledge a flush [default: 10000]
    #[arg(long, value_name = "MS")]
    pub control_timeout_ms: Option<u64>,
    /// How long a connection may be silent before its node counts as lost [default: 3000]
    #[arg(long, value_name = "MS")]
    pub keepalive_timeout_ms: Option<u64>,
}

const TRANSPORTS: [(&str, Transport); 2] = [("grpc", Transport::Grpc), ("quic", Transport::Quic)];

/// The word for a transport.
pub(crate) fn transport_name(transport: Transport) -> &'static str {
    TRANSPORTS.iter().find(|(_, known)| *known == transport).map_or("", |(name, _)| name)
}

impl NetworkArgs {
    /// Checks that the settings fit together.
    pub fn check(&self) -> Result<(), RunError> {
        self.resolve().map(drop)
    }

    /// The QDL's settings, so far as they are about the network.
    pub(crate) fn resolve(&self) -> Result<Settings, RunError> {
        let nodes: Vec<_> =
            self.nodes.iter().flatten().map(|address| address.trim().to_owned()).collect();
        if nodes.is_empty() {
            return usage("no node was named; give --nodes HOST:PORT,…");
        }
        for (place, address) in nodes.iter().enumerate() {
            netdiv_transport::check_address(address)
                .map_err(|error| RunError::Usage(error.to_string()))?;
            if nodes[..place].contains(address) {
                return usage(format!("--nodes: {address} is given twice"));
            }
        }
        let mut network = NetworkSettings { options: self.options()?, ..Default::default() };
        set_ms("control-timeout-ms", &mut network.control_timeout, self.control_timeout_ms)?;
        let stranger = nodes.iter().find(|address| !is_loopback(address));
        let insecure = self.insecure.unwrap_or(false);
        match (&network.options.tls, stranger) {
            (Some(_), _) if insecure => {
                return usage("--insecure and --tls-ca exclude each other");
            }
            (None, Some(address)) if !insecure => {
                return usage(format!(
                    "{address} is on another machine; give --tls-ca, or say --insecure to talk to it without TLS"
                ));
            }
            _ => {}
        }
        let cores = self.pin.clone().unwrap_or_default();
        node_process::check_cores(&cores)
            .map_err(|error| RunError::Usage(format!("--pin: {error}")))?;
        let mut settings = Settings::new(nodes);
        settings.network = network;
        settings.connections_per_node = at_least_one("connections", self.connections.unwrap_or(1))?;
        settings.streams_per_connection = at_least_one("streams", self.streams.unwrap_or(1))?;
        settings.io_threads = at_least_one("io-threads", self.io_threads.unwrap_or(1))?;
        settings.busy_poll = self.busy_poll.unwrap_or(false);
        let pin = move |thread| node_process::pin(&cores, thread);
        settings.on_thread_start = Some(OnThreadStart(Arc::new(pin)));
        Ok(settings)
    }

    fn options(&self) -> Result<Options, RunError> {
        let refused =
            |error: netdiv_transport::security::SecurityError| RunError::Usage(error.to_string());
        let files = TlsFiles {
            ca: self.tls_ca.clone(),
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
        };
        if files.ca.is_none() && (files.certificate.is_some() || files.key.is_some()) {
            return usage("--tls-certificate and --tls-key need --tls-ca: whom to show them to");
        }
        let mut options = Options {
            transport: choose(
                "transport",
                self.transport.as_deref().unwrap_or("grpc"),
                &TRANSPORTS,
            )?,
            tls: files
                .ca
                .is_some()
                .then(|| ClientTls::load(&files))
                .transpose()
                .map_err(refused)?,
            token: self.token_file.as_deref().map(Token::read).transpose().map_err(refused)?,
            window_bytes: self.receive_window_bytes.unwrap_or(limits::STREAM_WINDOW_BYTES),
            quic_mtu: self.quic_mtu,
            ..Options::default()
        };
        within("receive-window-bytes", options.window_bytes, limits::WINDOW_BYTES)?;
        if let Some(mtu) = options.quic_mtu {
            within("quic-mtu", mtu, limits::UDP_PAYLOAD_BYTES)?;
        }
        set_ms("connect-timeout-ms", &mut options.connect_timeout, self.connect_timeout_ms)?;
        set_ms("keepalive-timeout-ms", &mut options.keepalive_timeout, self.keepalive_timeout_ms)?;
        Ok(options)
    }
}

/// Settings or files that do not do.
pub(crate) fn usage<T>(text: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Usage(text.into()))
}

/// Sets a time limit, if one was given.
pub(crate) fn set_ms(key: &str, limit: &mut Duration, ms: Option<u64>) -> Result<(), RunError> {
    match ms {
        Some(0) => return usage(format!("--{key} 0: must be at least 1")),
        Some(ms) => *limit = Duration::from_millis(ms),
        None => {}
    }
    Ok(())
}

fn within<N: PartialOrd + Display>(
    key: &str,
    value: N,
    range: RangeInclusive<N>,
) -> Result<(), RunError> {
    match range.contains(&value) {
        true => Ok(()),
        false => {
            usage(format!("--{key} {value}: must be from {} to {}", range.start(), range.end()))
        }
    }
}

/// A number that must not be 0.
pub(crate) fn at_least_one(key: &str, value: usize) -> Result<usize, RunError> {
    match value {
        0 => usage(format!("--{key} 0: must be at least 1")),
        _ => Ok(value),
    }
}
