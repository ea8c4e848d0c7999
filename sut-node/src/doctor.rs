//! `sut-node doctor`: finds what keeps this machine from measuring well as a SUT node.

use std::time::Duration;

use netdiv_contract::limits;
use netdiv_machine::{
    doctor::{Facts, FilesNeeded, LinkSelection, MemoryNeeded, Needs, Report, examine},
    evidence::System,
};
use netdiv_node_common::words::Transport;
use netdiv_transport::{Connections, quic};

use crate::{
    engine::list::EngineConfig,
    sample::streams::MAX_STREAMS,
    settings::{config::Config, network::Network},
};

/// Maximum offset of the machine's clock that is not a finding. With this offset, logs and traces
/// of several machines can still be put in order.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

/// Maximum size of the incomplete message on a stream, in bytes.
const BEGINNING_BYTES: u64 = 1 << 20;

/// Examines this machine. Returns the findings that concern a node with these settings.
pub(crate) fn doctor(config: &Config) -> Report {
    examine(&Facts::read(&System::default()), &needs(config), &[])
}

fn needs(config: &Config) -> Needs {
    let network = &config.network;
    let serves = |transport| network.transports.serves(transport);
    Needs {
        program: format!("sut-node {}", env!("CARGO_PKG_VERSION")),
        udp_buffer_bytes: serves(Transport::Quic).then_some(quic::SOCKET_BUFFER_BYTES as u64),
        tcp_window_bytes: serves(Transport::Grpc).then(|| network.receive_window_bytes.into()),
        quic_mtu: network.quic_mtu,
        connections: network.max_connections as u64,
        files: FilesNeeded {
            least: Connections::files_without_strangers(network.max_connections) as u64,
            all: Connections::files(network.max_connections) as u64,
            raises_limit: true,
        },
        io_threads: config.node.io_threads,
        pin: config.node.pin.clone(),
        links: links(network),
        uses_accelerators: matches!(config.engine, EngineConfig::Torch(_)),
        memory: Some(memory(config)),
        clock_tolerance: CLOCK_TOLERANCE,
    }
}

/// Selects the interface that has the node's listen address, or all interfaces if the node listens
/// on all addresses.
fn links(network: &Network) -> LinkSelection {
    if network.listen.ip().is_unspecified() {
        return LinkSelection::Up;
    }
    let route = netdiv_machine::evidence::route(&network.listen.to_string());
    LinkSelection::Named(route.interface.into_iter().collect())
}

/// Returns the memory that the node needs when all its limits are reached: `least` without the
/// receive windows of connections, `all` with the windows of the maximum number of connections.
fn memory(config: &Config) -> MemoryNeeded {
    let in_flight = u64::from(config.node.max_in_flight_bytes);
    let window = limits::connection_window_bytes(config.network.receive_window_bytes);
    let each = u64::from(window).min(in_flight);
    let least = in_flight.saturating_mul(2).saturating_add(MAX_STREAMS as u64 * BEGINNING_BYTES);
    let windows = each.saturating_mul(config.network.max_connections as u64);
    MemoryNeeded { least, all: least.saturating_add(windows) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Args;

    fn needs_of(text: &str) -> Needs {
        needs(&Args::of(text).without_model().resolve().unwrap())
    }

    #[test]
    fn what_a_node_needs_follows_its_settings() {
        let both = needs_of("");
        assert_eq!(both.udp_buffer_bytes, Some(quic::SOCKET_BUFFER_BYTES as u64));
        assert!(both.tcp_window_bytes.is_some() && !both.uses_accelerators);
        assert_eq!(both.links, LinkSelection::Named(vec!["lo".into()]));
        assert_eq!(needs_of("transport = 'grpc'").udp_buffer_bytes, None);
        assert_eq!(needs_of("transport = 'quic'").tcp_window_bytes, None);
        let open = needs_of("listen = '0.0.0.0:1'\ninsecure = true\nmax_connections = 1000");
        assert_eq!((open.connections, open.links), (1000, LinkSelection::Up));
        assert_eq!(open.files.all - both.files.all, 1000 - 64);
        let memory = |needs: Needs| needs.memory.unwrap();
        let small = memory(needs_of("max_in_flight_bytes = '1MiB'"));
        assert_eq!(small.all - small.least, 64 << 20);
        assert!(memory(both).least > small.least);
        // Without a model, settings of a model are still invalid.
        assert!(Args::of("postprocess = 'none'").without_model().resolve().is_err());
    }
}
