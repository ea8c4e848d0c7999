//! N23: a system diagram with its text (rules, section 6.2.3).

use crate::subject::{Findings, Subject, topology};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "switches, diagram and architecture";
    if found.own_tree(subject, text).is_none() {
        return;
    }
    for system in &subject.systems {
        let links = system.text("network_topology").and_then(|field| topology::links(&field));
        let Some(links) = links else { continue };
        let mut at = found.at(&system.place);
        for (device, name) in topology::unlinked(subject, system, &links) {
            at.fail(format!("{device}:{name} is in use, and network_topology has no link for it"));
        }
        at.or_pass("network_topology has a link for every interface in use");
    }
}
