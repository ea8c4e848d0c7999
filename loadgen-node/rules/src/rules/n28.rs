//! N28: a description of the system's architecture (rules, section 5.1).

use std::collections::BTreeSet;

use super::{document_diff, regeneration::AcceptableTexts};
use crate::{
    facts::rate::bits_per_second,
    subject::{Findings, Subject, topology},
    tree::documents,
};

mod fabric_reports;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "switches, diagram and architecture";
    let Some(tree) = found.own_tree(subject, text) else { return };
    let place = tree.home.document(documents::ARCHITECTURE);
    let mut at = found.at(&place);
    let Some(text) = tree.document(documents::ARCHITECTURE) else {
        return at.fail(
            "is missing or empty: describe the NICs, the path from them to the accelerators, and the evidence that it \
             carries the load",
        );
    };
    let ports = topology::ports(subject.records());
    let names: BTreeSet<_> = ports.iter().flat_map(|(device, port)| [&device[..], port]).collect();
    let ours = AcceptableTexts::of(subject, tree, documents::ARCHITECTURE);
    document_diff::compare(&mut at, &place, &text, &ours, names);
    if !text.lines().any(|line| bits_per_second(line).is_some()) {
        at.fail("states no bandwidth, such as `100 Gb/s`");
    }
    for (place, text) in fabric_reports::wrong(subject, tree, &text) {
        at.fail_at(place, text);
    }
    at.or_pass("every interface in use is described with its bandwidth");
}
