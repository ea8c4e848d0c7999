//! Fields of the system description that concern the network, derived from the interfaces on routes
//! and from the runs.

use std::net::IpAddr;

use netdiv_contract::v1::{Interface, Route};

use super::cluster::{Cluster, NamedMachine};
use crate::{
    facts::{fabric, rate},
    record::{Carrier, RunResult, Transport},
};

/// Joins distinct values with ` / `, in order of appearance; `None` if a value is unknown.
pub(super) fn joined(values: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let mut different: Vec<String> = Vec::new();
    for value in values {
        let value = value?;
        if !different.contains(&value) {
            different.push(value);
        }
    }
    (!different.is_empty()).then(|| different.join(" / "))
}

/// Returns the names of the fabrics that carry the routes; `None` if an interface on a route is
/// unknown or its fabric is not permitted (section 6.2.2).
pub(super) fn network_type(machines: &[NamedMachine]) -> Option<String> {
    of_nics(machines, |nic| Some(fabric::of_kind(&nic.kind)?.name.to_owned()))
}

/// Joins a property of the interfaces on routes; `None` if an interface does not report it.
pub(super) fn of_nics(
    machines: &[NamedMachine],
    get: impl Fn(&Interface) -> Option<String>,
) -> Option<String> {
    let nics = machines.iter().flat_map(NamedMachine::nics);
    joined(nics.map(|(_, nic)| get(nic?)))
}

pub(super) fn speed(nic: &Interface) -> Option<String> {
    Some(rate::format_interface_speed(nic.speed_mbit_per_second?))
}

pub(super) fn host_networking(nodes: &[NamedMachine]) -> Option<String> {
    let kind = network_type(nodes)?;
    let node = |node: &NamedMachine| {
        let nics = node.nics();
        let speeds = of_nics(std::slice::from_ref(node), speed)?;
        Some(format!("{} x {speeds} {kind}", nics.len()))
    };
    joined(nodes.iter().map(node))
}

pub(super) fn nic_count(machines: &[NamedMachine]) -> Option<String> {
    let counts: Vec<_> = machines.iter().map(|machine| machine.nics().len()).collect();
    if counts.is_empty() || counts.contains(&0) {
        return None;
    }
    let total: usize = counts.iter().sum();
    if counts.len() == 1 {
        return Some(total.to_string());
    }
    let each = if counts.iter().all(|count| *count == counts[0]) {
        format!("{} in each node", counts[0])
    } else {
        counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    Some(format!("{total} ({each})"))
}

/// Lists the kernel, the drivers and firmware of the interfaces on routes, and the node's program.
pub(super) fn stack(machines: &[NamedMachine]) -> Option<String> {
    let stack = |named: &NamedMachine| {
        let mut parts = vec![named.machine.kernel.clone()?];
        for (_, nic) in named.nics() {
            let nic = nic?;
            let firmware = nic.firmware.as_ref().map(|version| format!(" (firmware {version})"));
            parts.push(format!("{}{}", nic.driver.clone()?, firmware.unwrap_or_default()));
        }
        parts.extend(named.machine.program.clone());
        parts.dedup();
        Some(parts.join(", "))
    };
    joined(machines.iter().map(stack))
}

/// Returns the protocols from layer 7 down to layer 3, such as `gRPC over HTTP/2 over TCP over
/// IPv4`. Returns `None` if the routes do not determine layer 3, or if the run used no network.
pub(crate) fn protocol(run: &RunResult, cluster: &Cluster) -> Option<String> {
    let routes = cluster.loadgen()[0].machine.routes.iter();
    // The peer may be a host name; the local address of the route is of the same family.
    let version = |route: &Route| {
        let address: IpAddr = route.local_address.as_ref()?.parse().ok()?;
        Some(if address.is_ipv4() { "IPv4" } else { "IPv6" }.to_owned())
    };
    let ip = joined(routes.map(version))?.replace(" / ", " and ");
    let Carrier::Network(transport) = run.transport else { return None };
    let above = match (transport, run.tls) {
        (Transport::Grpc, true) => "gRPC over HTTP/2 over TLS 1.3 over TCP",
        (Transport::Grpc, false) => "gRPC over HTTP/2 over TCP",
        (Transport::Quic, _) => "netdiv frames over QUIC (TLS 1.3) over UDP",
    };
    Some(format!("{above} over {ip}"))
}

pub(super) fn connections(run: &RunResult) -> String {
    let (nodes, each) = (run.nodes.len() as u64, run.connections_per_node);
    let streams = match run.streams_per_connection {
        1 => "1 stream".into(),
        streams => format!("{streams} streams"),
    };
    format!("{} ({each} to each of {nodes} nodes, {streams} on each)", nodes.saturating_mul(each))
}
