//! The topology as a graph, and its checks: every interface on a route has a link, both ends of
//! every link exist, and each node is reachable.

use std::collections::BTreeSet;

use super::{
    cluster::{Cluster, LinkEnd},
    gap::Problems,
    submission_toml::{LinkSettings, Topology},
};
use crate::facts::{machines::LOADGEN, rate::states_a_rate};

/// A link whose ends exist.
#[derive(Debug, Clone)]
pub(super) struct Cable<'a> {
    pub(super) ends: [LinkEnd; 2],
    pub(super) link: &'a LinkSettings,
}

impl Cable<'_> {
    pub(super) fn text(&self) -> String {
        let LinkSettings { media, rate, length, .. } = self.link;
        let length = length.as_ref().map_or_else(String::new, |length| format!(", {length}"));
        format!("{media}, {rate}{length}")
    }
}

/// Checks the topology, and adds its faults. Returns all links with valid ends, in the order of the
/// settings.
pub(super) fn cables<'a>(
    topology: &'a Topology,
    cluster: &Cluster,
    problems: &mut Problems,
) -> Vec<Cable<'a>> {
    check_names(topology, cluster, problems);
    let mut cables = Vec::new();
    let mut used = BTreeSet::new();
    for link in &topology.links {
        for (key, text) in [("media", &link.media), ("rate", &link.rate)] {
            if text.trim().is_empty() {
                let LinkSettings { from, to, .. } = link;
                problems.fault(format!("[[topology.link]] {from} to {to}: `{key}` is empty"));
            }
        }
        rate(
            &format!("[[topology.link]] {} to {}: rate", link.from, link.to),
            &link.rate,
            problems,
        );
        let mut end = |text: &str| end(text, topology, cluster, problems);
        let (Some(from), Some(to)) = (end(&link.from), end(&link.to)) else { continue };
        for end in [&from, &to] {
            if !used.insert(end.clone()) {
                problems
                    .fault(format!("[[topology.link]] {end} has two links; a port accepts one"));
            }
        }
        if from.device == to.device {
            problems
                .fault(format!("[[topology.link]] {}: both ends are on this device", from.device));
            continue;
        }
        cables.push(Cable { ends: [from, to], link });
    }
    check_routes(cluster, &used, &cables, problems);
    cables
}

fn check_names(topology: &Topology, cluster: &Cluster, problems: &mut Problems) {
    if cluster.nodes().iter().any(|node| node.name == LOADGEN) {
        problems
            .fault("a node is named `loadgen`, which is reserved for the LoadGen node; rename it");
    }
    let mut names = BTreeSet::new();
    for switch in &topology.switches {
        let name = &switch.name;
        if cluster.find(name).is_some() || !names.insert(name) {
            problems.fault(format!("[[topology.switch]] `{name}`: this name is in use already"));
        }
        let texts = [("name", name), ("model", &switch.model), ("speed", &switch.speed)];
        for (key, _) in texts.iter().filter(|(_, text)| text.trim().is_empty()) {
            problems.fault(format!("[[topology.switch]] `{name}`: `{key}` is empty"));
        }
        rate(&format!("[[topology.switch]] `{name}`: speed"), &switch.speed, problems);
        let links = topology.links.iter().flat_map(|link| [&link.from, &link.to]);
        let prefix = format!("{name}:");
        let linked = links.filter(|end| end.starts_with(&prefix)).count();
        if linked > switch.ports as usize {
            let ports = switch.ports;
            problems.fault(format!(
                "[[topology.switch]] `{name}` has {ports} ports and {linked} links"
            ));
        }
    }
}

fn end(
    text: &str,
    topology: &Topology,
    cluster: &Cluster,
    problems: &mut Problems,
) -> Option<LinkEnd> {
    // Names of devices may contain colons: the longest known name at the start of the text counts.
    let machines = cluster.machines.iter().map(|machine| machine.name.as_str());
    let switches = topology.switches.iter().map(|switch| switch.name.as_str());
    let split = machines.chain(switches).filter_map(|name| {
        let port = text.strip_prefix(name)?.strip_prefix(':')?.trim();
        (!port.is_empty()).then_some((name, port))
    });
    let Some((device, port)) = split.max_by_key(|(name, _)| name.len()) else {
        let names: Vec<_> = cluster.machines.iter().map(|machine| machine.name.as_str()).collect();
        problems.fault(format!(
            "[[topology.link]] `{text}`: write MACHINE:INTERFACE or SWITCH:PORT; machines are {}, switches are \
             those of [[topology.switch]]",
            names.join(", ")
        ));
        return None;
    };
    if let Some(machine) = cluster.find(device)
        && !machine.has(port)
    {
        let known = machine.machine.interfaces.iter().map(|interface| interface.name.as_str());
        let known: Vec<_> = known.collect();
        problems.fault(format!(
            "[[topology.link]] `{text}`: {device} has no interface {port}; it has {}",
            if known.is_empty() { "none".into() } else { known.join(", ") }
        ));
        return None;
    }
    let switch = topology.switches.iter().find(|switch| switch.name == device);
    if let Some((switch, port)) = switch.zip(port.parse::<u32>().ok())
        && port > switch.ports
    {
        let ports = switch.ports;
        problems.fault(format!("[[topology.link]] `{text}`: {device} has {ports} ports"));
    }
    Some(LinkEnd { device: device.into(), port: port.into() })
}

/// Adds a fault if a text states no rate. The caller reports an empty rate.
fn rate(place: &str, text: &str, problems: &mut Problems) {
    if !text.trim().is_empty() && !states_a_rate(text) {
        problems.fault(format!("{place} is `{text}`; write a rate, such as \"100 Gb/s\""));
    }
}

fn check_routes(
    cluster: &Cluster,
    used: &BTreeSet<LinkEnd>,
    cables: &[Cable<'_>],
    problems: &mut Problems,
) {
    for machine in &cluster.machines {
        for end in machine.ends().difference(used) {
            problems.fault(format!(
                "{end} is on a route and has no link; add a [[topology.link]] with from = \"{end}\", to, media and rate"
            ));
        }
    }
    let [loadgen] = cluster.loadgen() else { return };
    for (place, node) in cluster.nodes().iter().enumerate() {
        let (here, there) = (loadgen.ends_of_route(place), node.ends());
        let all_linked =
            [&here, &there].into_iter().all(|ends| !ends.is_empty() && ends.is_subset(used));
        let reached = here.iter().any(|end| !reach(end, cluster, cables).is_disjoint(&there));
        if all_linked && !reached {
            problems.fault(format!(
                "no links lead from loadgen to an interface on the route of {}; complete the [[topology.link]]s",
                node.name
            ));
        }
    }
}

/// Returns all ends that are reachable from `start` through cables and switches, but not through
/// machines.
fn reach(start: &LinkEnd, cluster: &Cluster, cables: &[Cable<'_>]) -> BTreeSet<LinkEnd> {
    let mut reached = BTreeSet::from([start.clone()]);
    let mut waiting = vec![start.clone()];
    while let Some(end) = waiting.pop() {
        let is_switch = cluster.find(&end.device).is_none();
        for cable in cables {
            for (here, there) in [(0, 1), (1, 0)] {
                let here = &cable.ends[here];
                let joined = if is_switch { here.device == end.device } else { *here == end };
                if joined && reached.insert(cable.ends[there].clone()) {
                    waiting.push(cable.ends[there].clone());
                }
            }
        }
    }
    reached
}

/// Returns the fields of a system's description that the links determine.
pub(super) fn link_fields(cables: &[Cable<'_>]) -> Vec<(&'static str, String)> {
    let mut media: Vec<&str> = Vec::new();
    for cable in cables {
        if !media.contains(&cable.link.media.as_str()) {
            media.push(&cable.link.media);
        }
    }
    let fields = [
        ("network_media", media.join(" / ")),
        ("network_topology", describe_links(cables)),
        ("host_networking_topology", describe_links(cables)),
    ];
    fields.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Describes all links, for the field `network_topology`.
fn describe_links(cables: &[Cable<'_>]) -> String {
    let line = |cable: &Cable<'_>| {
        let [from, to] = &cable.ends;
        format!("{from} <-> {to} ({})", cable.text())
    };
    cables.iter().map(line).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use netdiv_node_common::words::Mode;

    use super::*;
    use crate::{
        Scenario,
        fixture::{self, RunSpec},
    };

    fn cluster() -> Cluster {
        let spec = RunSpec::new("resnet50", Scenario::Offline, Mode::Performance);
        Cluster::of(&fixture::record_of(&spec))
    }

    fn check(text: &str) -> Vec<String> {
        let topology: Topology = toml::from_str(text).unwrap();
        let mut problems = Problems::default();
        cables(&topology, &cluster(), &mut problems);
        problems.gaps.into_iter().map(|gap| gap.text).collect()
    }

    const SWITCH: &str =
        "switch = [{ name = \"leaf\", model = \"SN3700\", ports = 32, speed = \"200 Gb/s\" }]\n";

    fn links(ends: &[(&str, &str)]) -> String {
        let link = |(from, to): &(&str, &str)| {
            format!(
                "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nmedia = \"copper DAC\"\nrate = \"100 Gb/s\"\n"
            )
        };
        SWITCH.to_owned() + &ends.iter().map(link).collect::<String>()
    }

    #[test]
    fn a_whole_topology_has_no_problems() {
        let star = [
            ("loadgen:ens1f0np0", "leaf:1"),
            ("node-a:ens1f0np0", "leaf:2"),
            ("leaf:3", "node-b:ens1f0np0"),
        ];
        assert_eq!(check(&links(&star)), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_or_unknown_is_said_all_at_once() {
        let problems = check(&links(&[
            ("loadgen:ens1f0np0", "leaf:1"),
            ("node-a:ens1f0np0", "leaf:1"),
            ("node-c:ens1f0np0", "leaf:2"),
            ("node-b:eth7", "leaf:3"),
        ]));
        let want = [
            "leaf:1 has two links",
            "`node-c:ens1f0np0`: write MACHINE",
            "node-b has no interface eth7; it has ens1f0np0, eno1, docker0",
            "node-b:ens1f0np0 is on a route and has no link",
        ];
        assert_eq!(problems.len(), want.len(), "{problems:#?}");
        for (problem, want) in problems.iter().zip(want) {
            assert!(problem.contains(want), "{problem}");
        }
    }

    #[test]
    fn links_have_to_lead_to_the_nodes() {
        let apart = [
            ("loadgen:ens1f0np0", "leaf:1"),
            ("node-a:ens1f0np0", "leaf:2"),
            ("node-b:ens1f0np0", "node-a:eno1"),
        ];
        let problems = check(&links(&apart));
        assert!(problems[0].contains("to an interface on the route of node-b"), "{problems:?}");
    }
}
