//! Documents about the machines and the network between them: the diagram with its text (N22, N23)
//! and the system's architecture (N28).

use super::{
    cluster::{Cluster, LinkEnd, NamedMachine},
    diagram,
    markdown::{known, table},
    submission_toml::{SwitchSettings, Topology},
    topology::Cable,
};
use crate::facts::{interfaces, rate};

/// Generates `system-diagram.md`.
pub(super) fn system_diagram(
    system: &str,
    cluster: &Cluster,
    topology: &Topology,
    cables: &[Cable<'_>],
) -> String {
    let graph = diagram::mermaid(cluster, topology, cables);
    let mut text = format!("# The system {system}\n\n{graph}\n");
    if let Some(explanation) = &topology.text {
        text += explanation.trim();
        text += "\n\n";
    }
    let nodes: Vec<_> = cluster.nodes().iter().map(|node| node.name.as_str()).collect();
    text += &format!(
        "LoadGen, the Query Sample Library and the Query Dispatch Library run on the machine `loadgen`. Everything else is \
         the SUT: {} (rules, section 6.2.3). `evidence/` has all that each machine says of itself.\n\n## Machines\n\n",
        nodes.join(", ")
    );
    text += &machines(cluster);
    text += "\n## Network interfaces on the routes between them\n\n";
    text += &interfaces(cluster);
    if !topology.switches.is_empty() {
        text += "\n## Switches\n\n";
        let rows = topology.switches.iter().map(|switch| {
            let SwitchSettings { name, model, ports, speed } = switch;
            [name.clone(), model.clone(), ports.to_string(), speed.clone()]
        });
        text += &table(["switch", "model", "ports", "speed of a port"], rows);
    }
    text += "\n## Links\n\n";
    let rows = cables.iter().map(|cable| {
        let [from, to] = cable.ends.each_ref().map(LinkEnd::to_string);
        [from, to, cable.link.media.clone(), cable.link.rate.clone(), known(&cable.link.length)]
    });
    text + &table(["from", "to", "media", "rate", "length"], rows)
}

fn machines(cluster: &Cluster) -> String {
    let rows = cluster.machines.iter().map(|named| {
        let machine = &named.machine;
        let accelerators: Vec<_> =
            machine.accelerators.iter().map(|accelerator| accelerator.name.clone()).collect();
        [
            named.name.clone(),
            known(&machine.product),
            format!("{} x {}", known(&machine.cpu_sockets), known(&machine.cpu_model)),
            if accelerators.is_empty() { "none".into() } else { accelerators.join(", ") },
            known(&machine.operating_system),
            known(&machine.kernel),
        ]
    });
    table(["machine", "product", "processors", "accelerators", "operating system", "kernel"], rows)
}

/// Generates a table of all interfaces on a route, with their descriptions.
fn interfaces(cluster: &Cluster) -> String {
    let rows = cluster.machines.iter().flat_map(|named| {
        named.nics().into_iter().map(|(name, nic)| {
            let nic = nic.cloned().unwrap_or_default();
            [
                named.name.clone(),
                name.to_owned(),
                nic.kind,
                known(&nic.model),
                known(&nic.speed_mbit_per_second.map(rate::format_interface_speed)),
                known(&nic.mtu_bytes),
                format!("{}, firmware {}", known(&nic.driver), known(&nic.firmware)),
                known(&nic.bus_address),
                known(&nic.numa_node),
            ]
        })
    });
    let head =
        ["machine", "interface", "kind", "model", "speed", "MTU", "driver", "bus", "NUMA node"];
    table(head, rows)
}

/// Generates `system-architecture.md`.
pub(super) fn architecture(
    system: &str,
    cluster: &Cluster,
    data_path: &str,
    measured: &str,
) -> String {
    let mut text = format!(
        "# Architecture of {system}\n\nWhat section 5.1 of the rules asks for: the network interfaces and their \
         bandwidth, the way from them to the accelerators, and what shows that it carries what Appendix B wants \
         ([bandwidth.md](bandwidth.md)).\n\n## Network interfaces\n\n"
    );
    text += &interfaces(cluster);
    text += "\nTogether, in each direction:\n\n";
    let rows = cluster.machines.iter().map(|NamedMachine { name, machine }| {
        [name.clone(), known(&interfaces::bits_per_second(machine).map(rate::format_rate))]
    });
    text += &table(["machine", "bandwidth"], rows);
    text += "\n## From the network to the accelerators\n\n";
    text += data_path.trim();
    text += "\n\n";
    let rows = cluster.nodes().iter().flat_map(|named| {
        named.machine.accelerators.iter().map(|accelerator| {
            [
                named.name.clone(),
                accelerator.name.clone(),
                known(&accelerator.bus_address),
                known(&accelerator.host_link),
            ]
        })
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        text += &table(["node", "accelerator", "bus", "link to the host"], rows);
        text += "\n";
    }
    text + "## Evidence\n\n" + measured.trim() + "\n"
}
