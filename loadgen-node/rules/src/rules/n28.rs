//! N28: a description of the system's architecture (rules, section 5.1).

use crate::{
    facts::rate::states_a_rate,
    subject::{Findings, Subject},
    tree::documents,
};

mod fabric_reports;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "switches, diagram and architecture";
    let Some(tree) = found.own_tree(subject, text) else { return };
    let Some(text) = tree.document(documents::ARCHITECTURE) else { return };
    let mut at = found.at(tree.home.document(documents::ARCHITECTURE));
    if !text.lines().any(states_a_rate) {
        at.fail("states no bandwidth, such as `100 Gb/s`");
    }
    for (place, text) in fabric_reports::wrong(subject, tree, &text) {
        at.fail_at(place, text);
    }
    at.or_pass("it states a bandwidth, and the measured ones are of this network");
}
