//! Fields of the system description, derived from the evidence of runs: about the machines, and
//! about the network, by the interfaces on routes.

use std::{collections::BTreeMap, net::IpAddr};

use netdiv_contract::v1::{Interface, Machine, Route};

use super::cluster::{Cluster, NamedMachine};
use crate::{
    facts::{count_texts, fabric, rate},
    record::{Carrier, RunResult, Transport},
};

/// Returns every field that the evidence determines, by the field's name. If machines differ, the
/// field lists all values. A field with a number is missing if machines differ: the submitter must
/// write it.
pub(crate) fn fields(cluster: &Cluster, runs: &[&RunResult]) -> BTreeMap<&'static str, String> {
    let nodes = cluster.nodes();
    let loadgen = cluster.loadgen();
    let of = |get: fn(&Machine) -> Option<String>| values(nodes, get);
    let number = |get: fn(&Machine) -> Option<u32>| {
        let numbers: Option<Vec<u32>> = nodes.iter().map(|node| get(&node.machine)).collect();
        let mut numbers = numbers?;
        numbers.dedup();
        <[u32; 1]>::try_from(numbers).ok().map(|[number]| number.to_string())
    };
    let count = (!nodes.is_empty()).then(|| nodes.len().to_string());
    let fields = [
        ("number_of_nodes", count),
        ("host_processor_model_name", of(|machine| machine.cpu_model.clone())),
        ("host_processors_per_node", number(|machine| machine.cpu_sockets)),
        ("host_processor_core_count", number(|machine| machine.cpu_cores_per_socket)),
        (
            "host_processor_frequency",
            of(|machine| Some(format!("up to {} MHz", machine.cpu_max_mhz?))),
        ),
        ("host_processor_caches", of(|machine| machine.cpu_caches.clone())),
        ("host_memory_capacity", of(|machine| Some(gibibytes(machine.memory_bytes?)))),
        ("framework", of(|machine| machine.framework.clone())),
        ("operating_system", of(|machine| machine.operating_system.clone())),
        ("other_software_stack", of(software)),
        ("host_network_card_count", of(cards)),
        ("network_type", network_type(&cluster.machines)),
        ("network_rate", of_nics(&cluster.machines, nic_speed)),
        ("host_networking", host_networking(nodes)),
        ("nic_loadgen", of_nics(loadgen, |nic| nic.model.clone())),
        ("number_nic_loadgen", nic_count(loadgen)),
        ("net_software_stack_loadgen", stack(loadgen)),
        ("nic_sut", of_nics(nodes, |nic| nic.model.clone())),
        ("number_nic_sut", nic_count(nodes)),
        ("net_software_stack_sut", stack(nodes)),
        (
            "network_protocol",
            joined(runs.iter().filter_map(|run| protocol(run, cluster)).map(Some)),
        ),
        ("number_connections", joined(runs.iter().map(|run| Some(connections(run))))),
    ];
    let known = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.chain(accelerators(nodes)).collect()
}

/// Joins the machines' values; `None` if a machine does not report one.
fn values(machines: &[NamedMachine], get: impl Fn(&Machine) -> Option<String>) -> Option<String> {
    joined(machines.iter().map(|named| get(&named.machine)))
}

fn gibibytes(bytes: u64) -> String {
    let gibibytes = bytes as f64 / (1_u64 << 30) as f64;
    if gibibytes < 1000.0 { format!("{gibibytes:.1} GiB") } else { format!("{gibibytes:.0} GiB") }
}

fn software(machine: &Machine) -> Option<String> {
    let mut parts = vec![machine.kernel.clone()?];
    parts.extend(machine.program.clone());
    for accelerator in &machine.accelerators {
        let driver = accelerator.driver.as_ref();
        parts.extend(driver.map(|driver| format!("{} driver {driver}", accelerator.name)));
    }
    parts.extend(machine.container_image.as_ref().map(|image| format!("container {image}")));
    parts.extend(machine.bios_version.as_ref().map(|version| format!("firmware {version}")));
    parts.dedup();
    Some(parts.join(", "))
}

/// Lists the physical interfaces, on a route or not: the number of interfaces of each model.
/// Returns `None` if a model is unknown.
fn cards(machine: &Machine) -> Option<String> {
    let physical = machine.interfaces.iter().filter(|interface| interface.kind != "virtual");
    let models: Option<Vec<_>> = physical.map(|interface| interface.model.as_deref()).collect();
    let cards = count_texts(models?);
    (!cards.is_empty()).then(|| cards.join(", "))
}

fn accelerators(nodes: &[NamedMachine]) -> Vec<(&'static str, String)> {
    let counts: Option<Vec<_>> = nodes.iter().map(|node| node.machine.accelerator_count).collect();
    let mut counts = counts.unwrap_or_default();
    counts.dedup();
    let [count] = counts[..] else { return Vec::new() };
    let mut fields = vec![("accelerators_per_node", count.to_string())];
    if count == 0 {
        let none = [
            "accelerator_model_name",
            "accelerator_memory_capacity",
            "accelerator_host_interconnect",
            "accelerator_interconnect",
            "accelerator_memory_configuration",
        ];
        fields.extend(none.map(|name| (name, "none".to_owned())));
        return fields;
    }
    let all = || nodes.iter().flat_map(|node| &node.machine.accelerators);
    let told = [
        ("accelerator_model_name", joined(all().map(|one| Some(one.name.clone())))),
        (
            "accelerator_memory_capacity",
            joined(all().map(|one| Some(gibibytes(one.memory_bytes?)))),
        ),
        ("accelerator_host_interconnect", joined(all().map(|one| one.host_link.clone()))),
    ];
    fields.extend(told.into_iter().filter_map(|(name, value)| Some((name, value?))));
    fields
}

/// Joins distinct values with ` / `, in order of appearance; `None` if a value is unknown.
fn joined(values: impl IntoIterator<Item = Option<String>>) -> Option<String> {
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
fn network_type(machines: &[NamedMachine]) -> Option<String> {
    of_nics(machines, |nic| Some(fabric::of_kind(&nic.kind)?.name.to_owned()))
}

/// Joins a property of the interfaces on routes; `None` if an interface does not report it.
fn of_nics(
    machines: &[NamedMachine],
    get: impl Fn(&Interface) -> Option<String>,
) -> Option<String> {
    let nics = machines.iter().flat_map(NamedMachine::nics);
    joined(nics.map(|(_, nic)| get(nic?)))
}

fn nic_speed(nic: &Interface) -> Option<String> {
    Some(rate::format_interface_speed(nic.speed_mbit_per_second?))
}

fn host_networking(nodes: &[NamedMachine]) -> Option<String> {
    let kind = network_type(nodes)?;
    let node = |node: &NamedMachine| {
        let nics = node.nics();
        let speeds = of_nics(std::slice::from_ref(node), nic_speed)?;
        Some(format!("{} x {speeds} {kind}", nics.len()))
    };
    joined(nodes.iter().map(node))
}

fn nic_count(machines: &[NamedMachine]) -> Option<String> {
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
fn stack(machines: &[NamedMachine]) -> Option<String> {
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
fn protocol(run: &RunResult, cluster: &Cluster) -> Option<String> {
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

fn connections(run: &RunResult) -> String {
    let (nodes, each) = (run.nodes.len() as u64, run.connections_per_node);
    let streams = match run.streams_per_connection {
        1 => "1 stream".into(),
        streams => format!("{streams} streams"),
    };
    format!("{} ({each} to each of {nodes} nodes, {streams} on each)", nodes.saturating_mul(each))
}

#[cfg(test)]
mod tests {
    use netdiv_node_common::words::Mode;

    use super::*;
    use crate::{
        Scenario,
        fixture::{self, RunSpec},
    };

    fn run() -> RunResult {
        fixture::record_of(&RunSpec::new("resnet50", Scenario::Offline, Mode::Performance))
    }

    #[test]
    fn evidence_fills_what_it_can() {
        let run = run();
        let told = fields(&Cluster::of(&run), &[&run, &run]);
        let want = [
            ("number_of_nodes", "2"),
            ("host_processors_per_node", "2"),
            ("host_memory_capacity", "1511 GiB"),
            ("accelerators_per_node", "2"),
            ("accelerator_model_name", "NVIDIA H100 PCIe"),
            ("accelerator_memory_capacity", "79.6 GiB"),
            ("accelerator_host_interconnect", "PCIe 5.0 x16"),
            ("host_network_card_count", "1 x BCM5720, 1 x ConnectX-6 Dx"),
            ("network_type", "Ethernet"),
            ("network_rate", "100 Gb/s"),
            ("host_networking", "1 x 100 Gb/s Ethernet"),
            ("nic_loadgen", "ConnectX-6 Dx"),
            ("number_nic_loadgen", "1"),
            ("number_nic_sut", "2 (1 in each node)"),
            ("network_protocol", "gRPC over HTTP/2 over TLS 1.3 over TCP over IPv4"),
            ("number_connections", "8 (4 to each of 2 nodes, 2 streams on each)"),
            (
                "net_software_stack_loadgen",
                "Linux 6.8.0-45-generic, mlx5_core (firmware 22.39.1002), loadgen-node 0.1.0",
            ),
        ];
        for (name, value) in want {
            assert_eq!(told.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert!(!told.contains_key("network_topology") && !told.contains_key("cooling"));
    }

    #[test]
    fn nodes_without_accelerators_say_none() {
        let mut run = run();
        for node in run.evidence.as_mut().unwrap().nodes.values_mut() {
            (node.accelerators, node.accelerator_count) = (vec![], Some(0));
        }
        let told = fields(&Cluster::of(&run), &[&run]);
        assert_eq!(told["accelerators_per_node"], "0");
        assert_eq!(told["accelerator_interconnect"], "none");
    }

    #[test]
    fn nothing_is_made_up() {
        let mut run = run();
        let evidence = run.evidence.as_mut().unwrap();
        evidence.nodes.get_mut("node-b").unwrap().cpu_sockets = Some(1);
        evidence.loadgen_node.interfaces[0].kind = "virtual".into();
        evidence.loadgen_node.interfaces[0].speed_mbit_per_second = None;
        let told = fields(&Cluster::of(&run), &[&run]);
        for name in ["host_processors_per_node", "network_type", "network_rate"] {
            assert!(!told.contains_key(name), "{name}");
        }
        let evidence = run.evidence.as_mut().unwrap();
        for node in evidence.nodes.values_mut() {
            (node.accelerators, node.accelerator_count) = (vec![], None);
        }
        let told = fields(&Cluster::of(&run), &[&run]);
        assert!(!told.keys().any(|name| name.starts_with("accelerator")), "{told:?}");
        run.evidence = None;
        let told = fields(&Cluster::of(&run), &[&run]);
        let names: Vec<_> = told.into_keys().collect();
        assert_eq!(names, ["number_connections", "number_of_nodes"]);
    }
}
