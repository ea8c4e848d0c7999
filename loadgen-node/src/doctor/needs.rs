//! Requirements that a run places on the LoadGen node, for the doctor.

use netdiv_machine::doctor::{FilesNeeded, LinkSelection, Needs, Peer};
use netdiv_qdl::{Settings, Transport};
use netdiv_transport::quic;

use crate::run::CLOCK_TOLERANCE;

/// Name and version of this program.
pub(crate) const PROGRAM: &str = concat!("loadgen-node ", env!("CARGO_PKG_VERSION"));

/// Number of files that a run has open besides its connections: logs, libraries, a data set,
/// metrics.
const OTHER_FILES: u64 = 64;

/// Returns the requirements of a run with these settings on this machine. The run's I/O threads are
/// pinned to the cores `pin`. The interfaces to examine are those on the routes to `peers`, or,
/// without peers, all that are up.
pub(crate) fn needs(settings: &Settings, pin: Vec<usize>, peers: &[Peer]) -> Needs {
    let options = &settings.network.options;
    let is_quic = options.transport == Transport::Quic;
    let connections = settings.nodes.len().saturating_mul(settings.connections_per_node);
    let files = OTHER_FILES.saturating_add(connections as u64);
    Needs {
        udp_buffer_bytes: is_quic.then_some(quic::SOCKET_BUFFER_BYTES as u64),
        tcp_window_bytes: (!is_quic).then(|| options.window_bytes.into()),
        quic_mtu: options.quic_mtu,
        files: FilesNeeded { least: files, all: files, raises_limit: false },
        io_threads: settings.io_threads,
        pin,
        links: match peers {
            [] => LinkSelection::Up,
            peers => LinkSelection::Named(
                peers.iter().filter_map(|peer| peer.interface.clone()).collect(),
            ),
        },
        clock_tolerance: CLOCK_TOLERANCE,
        ..Needs::of(PROGRAM)
    }
}
