//! The topology as a graph: its cables, and the ends that are reachable through them.

use std::collections::BTreeSet;

pub(super) use super::cluster::LinkEnd;
use super::{cluster::Cluster, submission_toml::LinkSettings};

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
