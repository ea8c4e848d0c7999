//! Nodes that share a machine: of N15 and N20 that they do.

use super::{checked_folder::Subject, findings::Findings};
use crate::Rule::{N15, N20};

/// Says which do.
pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        let Some(evidence) = &record.evidence else { continue };
        let place = &run.record_place;
        for (names, _) in evidence.nodes_by_machine().iter().filter(|(names, _)| names.len() > 1) {
            let nodes = names.join(" and ");
            let text = format!("{nodes} are on one machine, each with a name of its own");
            found.pass(N15, place, text);
            let text = format!("{nodes} are on one machine, and share its interfaces");
            found.pass(N20, place, text);
        }
    }
}
