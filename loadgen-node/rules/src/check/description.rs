//! Of N6 and N36: what the description of a system says of its machines, its runs and its links is what these say.

use std::collections::BTreeMap;

use super::{
    checked_folder::{Subject, System},
    findings::Findings,
    topology,
};
use crate::{
    Rule::{self, N6, N36},
    derived::{cluster::Cluster, description::fields},
    judge::stated::contradicts,
    result::RunResult,
};

/// Fields that are held against the runs where their rule is judged: N5, N6 and N15.
const ELSEWHERE: [&str; 4] =
    ["network_protocol", "network_rate", "network_type", "number_of_nodes"];

type Fields = BTreeMap<&'static str, String>;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for system in &subject.systems {
        let mut told = by_runs(subject, system);
        told.extend(by_links(system));
        if let Some(text) = topologies(system) {
            found.fail(N6, &system.place, text);
        }
        for (name, ways) in told {
            let Some(stated) = system.text(name) else { continue };
            if ways.iter().all(|seen| contradicts(name, &stated, seen)) {
                let text = format!(
                    "{name} is `{stated}`, and by the runs and links of the submission it is `{}`: write that; more may stand beside it",
                    ways[0]
                );
                found.fail(rule(name), &system.place, text);
            }
        }
    }
}

/// The network's fields are those by which its layers are told.
fn rule(field: &str) -> Rule {
    let parts = ["network", "nic", "net_software", "connections"];
    if parts.iter().any(|part| field.contains(part)) { N6 } else { N36 }
}

/// What the runs tell of each field, in as many ways as they tell it: machines may change a little between two runs, and
/// nodes that share a machine may be counted, or their machine.
fn by_runs(subject: &Subject, system: &System) -> BTreeMap<&'static str, Vec<String>> {
    let runs: Vec<&RunResult> = subject.records_of(system).map(|(_, record)| record).collect();
    let clusters = runs.iter().flat_map(|run| [Cluster::of(run), Cluster::by_machine(run)]);
    let mut told: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (name, seen) in clusters.flat_map(|cluster| Fields::into_iter(fields(&cluster, &runs))) {
        let ways = told.entry(name).or_default();
        if !ELSEWHERE.contains(&name) && !ways.contains(&seen) {
            ways.push(seen);
        }
    }
    told.retain(|_, ways| !ways.is_empty());
    told
}

/// The host's topology is the network's, where it is a list of links, too.
fn topologies(system: &System) -> Option<String> {
    let (network, host) = ("network_topology", "host_networking_topology");
    let links = |field: &str| topology::links(&system.text(field)?);
    let (here, there) = (links(network)?, links(host)?);
    let is_same = here.len() == there.len() && here.iter().all(|link| there.contains(link));
    (!is_same)
        .then(|| format!("{host} has other links than {network}: write the same, or a sentence"))
}

/// What the list of links tells.
fn by_links(system: &System) -> Option<(&'static str, Vec<String>)> {
    let links = topology::links(&system.text("network_topology")?)?;
    let mut media: Vec<&str> = links.iter().map(|link| link.media()).collect::<Option<_>>()?;
    media.sort_unstable();
    media.dedup();
    Some(("network_media", vec![media.join(" / ")]))
}
