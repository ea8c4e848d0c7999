//! Requirements that a run places on the LoadGen node, for the doctor, and reasons why the run
//! would not begin.

use std::path::Path;

use netdiv_machine::doctor::{Draft, FilesNeeded, Id, LinkSelection, Needs, Peer};
use netdiv_qdl::{Settings, Transport};
use netdiv_transport::quic;

use crate::{
    RunConfig, RunError,
    run::{CLOCK_TOLERANCE, check_free_space, prepare},
};

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
        program: PROGRAM.into(),
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
        ..Needs::default()
    }
}

/// Returns a finding for each reason why a run with these settings would not begin. `sample` is the
/// error, if any, that kept the sample from being sent to the nodes.
pub(crate) fn findings(config: RunConfig, sample: Option<RunError>) -> Vec<Draft> {
    let about = format!("{} in {}", config.benchmark, config.scenario);
    let finding = |id, why: String| Draft::of(id, about.as_str()).fact("why", why);
    let room = check_free_space(existing_ancestor(&config.output), config.min_free_bytes);
    let full = room.err().map(|why| finding(Id::DiskSpace, why));
    let refused = prepare(config).err().or(sample);
    let refused = refused.map(|why| finding(Id::RunRefused, why.to_string()));
    refused.into_iter().chain(full).collect()
}

/// Returns the folder, or its nearest ancestor that exists.
fn existing_ancestor(folder: &Path) -> &Path {
    let above = folder.ancestors().find(|folder| folder.exists());
    above.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_to_be_made_is_on_the_file_system_above_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(existing_ancestor(&folder.path().join("out/a")), folder.path());
        assert_eq!(existing_ancestor(folder.path()), folder.path());
        assert_eq!(existing_ancestor(Path::new("no-such-folder/a")), Path::new("."));
    }
}
