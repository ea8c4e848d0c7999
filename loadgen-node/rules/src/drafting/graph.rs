//! The topology as a graph: reachable ends, and distances of the switches.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    cluster::Cluster,
    submission_toml::{LinkSettings, Topology},
};
pub(super) use crate::derived::cluster::LinkEnd;
use crate::facts::machines::LOADGEN;

/// A link whose ends exist.
#[derive(Debug, Clone)]
pub(super) struct Cable<'a> {
    pub(super) ends: [LinkEnd; 2],
    pub(super) link: &'a LinkSettings,
}

impl Cable<'_> {
    /// Returns media, rate and length as text.
    pub(super) fn text(&self) -> String {
        let LinkSettings { media, rate, length, .. } = self.link;
        let length = length.as_ref().map_or_else(String::new, |length| format!(", {length}"));
        format!("{media}, {rate}{length}")
    }
}

/// Returns all ends that are reachable from `start` through cables and switches, but not through
/// machines.
pub(super) fn reach(start: &LinkEnd, cluster: &Cluster, cables: &[Cable<'_>]) -> BTreeSet<LinkEnd> {
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
pub(super) fn fields(cables: &[Cable<'_>]) -> Vec<(&'static str, String)> {
    let mut media: Vec<&str> = Vec::new();
    for cable in cables {
        if !media.contains(&cable.link.media.as_str()) {
            media.push(&cable.link.media);
        }
    }
    let fields = [
        ("network_media", media.join(" / ")),
        ("network_topology", text(cables)),
        ("host_networking_topology", text(cables)),
    ];
    fields.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Describes all links, for the field `network_topology`.
fn text(cables: &[Cable<'_>]) -> String {
    let line = |cable: &Cable<'_>| {
        let [from, to] = &cable.ends;
        format!("{from} <-> {to} ({})", cable.text())
    };
    cables.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Returns the level of each switch, by its name: its distance from the LoadGen node, in links. Of
/// two linked switches with the same distance, one has the next level. A switch without a
/// connection to the LoadGen node has the maximum distance of the others.
pub(super) fn levels(topology: &Topology, cables: &[Cable<'_>]) -> BTreeMap<String, usize> {
    let is_switch = |name: &str| topology.switches.iter().any(|switch| switch.name == name);
    let mut levels = BTreeMap::new();
    let mut waiting = vec![LOADGEN.to_owned()];
    for level in 1..=topology.switches.len() {
        let mut next = BTreeSet::new();
        for cable in cables {
            for (here, there) in [(0, 1), (1, 0)] {
                let [here, there] = [&cable.ends[here].device, &cable.ends[there].device];
                if waiting.contains(here) && is_switch(there) && !levels.contains_key(there) {
                    next.insert(there.clone());
                }
            }
        }
        levels.extend(next.iter().map(|name| (name.clone(), level)));
        waiting = next.into_iter().collect();
    }
    let last = levels.values().max().copied().unwrap_or(1);
    for switch in &topology.switches {
        levels.entry(switch.name.clone()).or_insert(last);
    }
    // A drawing from left to right cannot show a link within a level: one of its switches moves to
    // the next level.
    for _ in 0..levels.len() {
        for cable in cables {
            let mut names = cable.ends.each_ref().map(|end| end.device.clone());
            names.sort();
            let [a, b] = names.each_ref().map(|name| levels.get(name).copied());
            if let (Some(a), Some(b)) = (a, b)
                && a == b
                && names[0] != names[1]
            {
                levels.insert(names[1].clone(), b + 1);
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drafting::{
        problems::Problems,
        topology::{
            cables,
            tests::{SWITCH, cluster, links},
        },
    };

    #[test]
    fn switches_have_levels() {
        let text = "switch = [{ name = \"a\", model = \"m\", ports = 4, speed = \"s\" }, \
                    { name = \"b\", model = \"m\", ports = 4, speed = \"s\" }, \
                    { name = \"c\", model = \"m\", ports = 4, speed = \"s\" }]\n";
        let ends = [("loadgen:ens1f0np0", "a:1"), ("a:2", "b:1"), ("b:2", "node-a:ens1f0np0")];
        let text = links(&ends).replace(SWITCH, text);
        let topology: Topology = toml::from_str(&text).unwrap();
        let cluster = cluster();
        let mut problems = Problems::default();
        let cables = cables(&topology, &cluster, &mut problems);
        let levels = levels(&topology, &cables);
        let want = [("a", 1), ("b", 2), ("c", 2)];
        assert_eq!(levels.into_iter().collect::<Vec<_>>(), want.map(|(n, l)| (n.to_owned(), l)));
    }
}
