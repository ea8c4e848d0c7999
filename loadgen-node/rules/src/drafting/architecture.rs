//! Documents about the machines and the network between them: the diagram with its text (N22, N23),
//! the system's architecture (N28), and the bandwidth that Appendix B requires at the measured
//! throughput, compared with the capacity of the network interfaces (N27).

use super::{
    cluster::{Cluster, LinkEnd, NamedMachine},
    diagram,
    markdown::{known, table},
    results::RecordedResult,
    submission_toml::{SwitchSettings, Topology},
    topology::Cable,
};
use crate::{
    book::TokenLimits,
    facts::{interfaces, rate},
    judge::bandwidth::{Demand, MachineDemand, TrafficDirection},
};

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

/// Generates `bandwidth.md`, with the same computation as the check.
pub(super) fn bandwidth(system: &str, results: &[RecordedResult<'_>]) -> String {
    let mut results: Vec<_> = results.iter().collect();
    results.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = format!(
        "# Bandwidth of {system}\n\nAppendix B of the rules: throughput times the bytes of a sample, by the formula with the \
         element types that were sent. Where what was sent is longer on average, that counts instead. The longer of both \
         directions is asked of each machine, for the samples that went through it. The capacity is what the interfaces on \
         its routes carry together, in each direction.\n"
    );
    for result in results {
        text += &format!("\n## {}\n\n{}", result.name, result_section(result));
    }
    text
}

fn result_section(result: &RecordedResult<'_>) -> String {
    let Some(benchmark) = result.benchmark else {
        return "Appendix B does not name this benchmark.\n".into();
    };
    let Some(evidence) = &result.performance.evidence else {
        return "The run has no evidence of the machines.\n".into();
    };
    let Some(rate) = result.rate else { return "The run has no throughput.\n".into() };
    let demand = Demand::of(benchmark, result.performance, evidence, rate);
    let Some(row) = &demand.row else {
        return "Appendix B does not name this benchmark.\n".into();
    };
    let mut text = format!(
        "{rate:.1} samples per second. Formula: {}; to the SUT {}, from it {} (`{}`): {} bytes. Sent: {:.0} bytes on \
         average.\n\n",
        row.formula,
        row.rules_ingress,
        row.rules_egress,
        row.name,
        demand.samples.formula.max(demand.responses.formula),
        demand.samples.sent.max(demand.responses.sent)
    );
    if let Some(limits) = benchmark.tokens() {
        text += &tokens(&demand, limits, rate);
    }
    let line = |end: &MachineDemand| {
        let share = end.capacity.map(|capacity| format!("{:.1} %", 100.0 * end.asked / capacity));
        [
            end.who.clone(),
            format!("{:.0}", end.asked / 8.0),
            rate::format_rate(end.asked),
            known(&end.capacity.map(rate::format_rate)),
            known(&share),
        ]
    };
    let head = ["machine", "bytes per second", "asked", "capacity", "of the capacity"];
    text += &table(head, demand.ends.iter().map(line));
    let met: Vec<_> = demand.ends.iter().map(MachineDemand::is_met).collect();
    text += if met.contains(&Some(false)) {
        "\n**The interfaces do not carry it.**\n"
    } else if met.contains(&None) {
        "\nWhether the interfaces carry it is not known.\n"
    } else {
        "\nThe interfaces carry it.\n"
    };
    text
}

/// Generates a table of both directions of a language model's samples: prompts and outputs have
/// different numbers of token ids.
fn tokens(demand: &Demand, limits: TokenLimits, rate: f64) -> String {
    let line = |way: &str, tokens: u64, bytes: TrafficDirection| {
        [
            way.to_owned(),
            tokens.to_string(),
            bytes.formula.to_string(),
            format!("{:.0}", bytes.sent),
            format!("{:.0}", rate * bytes.bytes()),
        ]
    };
    let head = ["token ids", "at most", "bytes, by Appendix B", "bytes sent", "bytes per second"];
    let ways = [
        line("to the SUT", limits.prompt, demand.samples),
        line("from it", limits.output_max, demand.responses),
    ];
    table(head, ways) + "\n"
}
