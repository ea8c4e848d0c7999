//! Compares the description of a system with its machines, runs and links (N6, N36).

use std::collections::BTreeMap;

use crate::{
    Rule,
    derived::{cluster::Cluster, description::fields},
    judge::statements::contradicts,
    record::RunResult,
    subject::{Findings, Subject, System, topology},
};

/// Fields that are not compared here, because N5, N6 and N15 compare them with the runs.
const JUDGED_BY_OTHER_RULES: [&str; 4] =
    ["network_protocol", "network_rate", "network_type", "number_of_nodes"];

type Fields = BTreeMap<&'static str, String>;

/// Finds fields of the system descriptions that contradict the runs or the links, among the fields
/// that `rule` judges.
pub(super) fn compare(subject: &Subject, rule: Rule, found: &mut Findings) {
    for system in &subject.systems {
        let mut told = by_runs(subject, system);
        told.extend(by_links(system));
        for (name, ways) in told.into_iter().filter(|(name, _)| rule_of_field(name) == rule) {
            let Some(stated) = system.text(name) else { continue };
            if ways.iter().all(|seen| contradicts(name, &stated, seen)) {
                let text = format!(
                    "{name} is `{stated}`, but the runs and links of the submission have `{}`: write that; the field may \
                     contain more",
                    ways[0]
                );
                found.fail(&system.place, text);
            }
        }
    }
}

/// Returns the rule that judges a field: N6 for fields about the network, and N36 for all other
/// fields.
fn rule_of_field(field: &str) -> Rule {
    let parts = ["network", "nic", "net_software", "connections"];
    if parts.iter().any(|part| field.contains(part)) { Rule::N6 } else { Rule::N36 }
}

/// Returns, by field, the values that the evidence of the runs permits. A field may have several:
/// machines may change a little between two runs, and a number may count either the nodes or the
/// machines that they share.
fn by_runs(subject: &Subject, system: &System) -> BTreeMap<&'static str, Vec<String>> {
    let runs: Vec<&RunResult> = subject.records_of(system).map(|(_, record)| record).collect();
    let clusters = runs.iter().flat_map(|run| [Cluster::of(run), Cluster::by_machine(run)]);
    let mut told: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (name, seen) in clusters.flat_map(|cluster| Fields::into_iter(fields(&cluster, &runs))) {
        let ways = told.entry(name).or_default();
        if !JUDGED_BY_OTHER_RULES.contains(&name) && !ways.contains(&seen) {
            ways.push(seen);
        }
    }
    told.retain(|_, ways| !ways.is_empty());
    told
}

/// Returns the field `network_media` and the media of all links in `network_topology`; `None` if a
/// link does not state its medium.
fn by_links(system: &System) -> Option<(&'static str, Vec<String>)> {
    let links = topology::links(&system.text("network_topology")?)?;
    let mut media: Vec<&str> = links.iter().map(|link| link.media()).collect::<Option<_>>()?;
    media.sort_unstable();
    media.dedup();
    Some(("network_media", vec![media.join(" / ")]))
}
