//! Room for the connections to servers: local ports and open files.

use std::{error::Error, io, iter};

use netdiv_node_common::resources::{descriptors, kernel};
use netdiv_transport::Connections;
use rustix::io::Errno;

use crate::{
    engine::{remote::server_settings::ServersConfig, settings::NodeSettings},
    ground::error::EngineError,
};

/// File with the first and the last port that the kernel gives to outgoing connections.
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Refuses settings under which more samples are in flight than this process can open connections.
///
/// Over HTTP/1.1, each sample in flight has a connection of its own. Samples are spread evenly over
/// the servers. Connections to different servers may share a local port.
///
/// NOTE: servers with TLS may agree on HTTP/2, which needs one connection, so they are not checked.
pub(crate) fn check(servers: &ServersConfig, node: &NodeSettings) -> Result<(), EngineError> {
    let plain = servers.urls.iter().filter(|url| url.scheme_str() == Some("http")).count();
    let most = node.batching.max_batch.saturating_mul(node.instances);
    let in_flight = node.max_in_flight_samples.map_or(most, |limit| most.min(limit as usize));
    let other_files = Connections::files_without_strangers(node.max_connections);
    let limits = Limits {
        ports: ports(&kernel::read(PORT_RANGE)),
        files: usize::try_from(descriptors::limit()).unwrap_or(usize::MAX),
        other_files,
    };
    limits.refusal(in_flight, plain, servers.urls.len()).map_or(Ok(()), |why| {
        let (batch, instances) = (node.batching.max_batch, node.instances);
        Err(EngineError::Failed(format!("--max-batch {batch}, --instances {instances}: {why}")))
    })
}

/// Limits of the machine and of the process.
struct Limits {
    /// Local ports for connections to a server; `None` if unknown.
    ports: Option<usize>,
    /// Maximum number of open files.
    files: usize,
    /// Number of files that the node needs besides the connections to servers.
    other_files: usize,
}

impl Limits {
    /// Returns the reason why `in_flight` samples cannot have a connection each, if `plain` of
    /// `servers` servers need one for each sample.
    fn refusal(&self, in_flight: usize, plain: usize, servers: usize) -> Option<String> {
        if plain == 0 {
            return None;
        }
        let to_each = in_flight.div_ceil(servers);
        if let Some(ports) = self.ports.filter(|ports| to_each > *ports) {
            let fits = ports * servers;
            return Some(format!(
                "{to_each} samples in flight to each server need as many connections, but this machine has {ports} \
                 local ports for them (net.ipv4.ip_local_port_range); allow at most {fits} samples in flight in all, \
                 add servers, or widen the range"
            ));
        }
        let connections = to_each.saturating_mul(plain);
        let needed = connections.saturating_add(self.other_files);
        (needed > self.files).then(|| {
            let (files, remedy) = (self.files, descriptors::REMEDY);
            format!(
                "{connections} connections to servers need {needed} open files, with those of clients, but this process may \
                 have {files}; {remedy}, or lower --max-batch"
            )
        })
    }
}

/// Returns the number of ports from the first to the last, which the text states.
fn ports(range: &str) -> Option<usize> {
    let (first, last) = range.trim().split_once(char::is_whitespace)?;
    let (first, last): (u16, u16) = (first.parse().ok()?, last.trim().parse().ok()?);
    Some(usize::from(last.checked_sub(first)?) + 1)
}

/// Returns the advice for an error of this machine and not of a server: it has no free local port or
/// open file, perhaps only until another connection is closed.
pub(super) fn remedy(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let causes = iter::successors(Some(error), |cause| (*cause).source());
    let mut of_system = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
    of_system.find_map(|error| match Errno::from_io_error(error) {
        Some(Errno::ADDRNOTAVAIL) => Some(
            "this machine has no free local port; lower --max-batch, or widen net.ipv4.ip_local_port_range",
        ),
        _ => descriptors::are_exhausted(error).then_some(descriptors::REMEDY),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_in_flight_fit_the_limits() {
        let limits = Limits { ports: Some(200), files: 1000, other_files: 200 };
        for (in_flight, plain, servers, refused) in [
            (200, 1, 1, None),
            (
                201,
                1,
                1,
                Some(
                    "201 samples in flight to each server need as many connections, but this machine has 200",
                ),
            ),
            (800, 4, 4, None),
            (801, 4, 4, Some("at most 800 samples")),
            (100_000, 0, 2, None),
            (usize::MAX, 2, 2, Some("local ports")),
        ] {
            let why = limits.refusal(in_flight, plain, servers);
            match refused {
                None => assert_eq!(why, None),
                Some(words) => {
                    assert!(why.as_ref().is_some_and(|why| why.contains(words)), "{why:?}")
                }
            }
        }
        let why = Limits { ports: None, ..limits }.refusal(801, 1, 1).unwrap();
        assert!(why.contains("need 1001 open files") && why.contains("may have 1000"), "{why}");
    }

    #[test]
    fn the_range_of_ports_is_read() {
        assert_eq!(ports("32768\t60999\n"), Some(28232));
        assert_eq!(ports("40000 40199"), Some(200));
        for absurd in ["", "7", "9 8", "a b", "0 70000"] {
            assert_eq!(ports(absurd), None, "{absurd}");
        }
    }
}
