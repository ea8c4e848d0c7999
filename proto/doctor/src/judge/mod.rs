//! The judgement, a file for each subject. Each is a function of facts and needs alone.

mod clock;
mod links;
mod numa;
mod path;
mod processors;
mod sockets;
mod space;

use crate::{
    facts::{Facts, Peer},
    needs::Needs,
    report::Report,
};

/// What keeps this machine, and the ways to these nodes, from measuring well.
pub fn examine(facts: &Facts, needs: &Needs, peers: &[Peer]) -> Report {
    let mut report = Report::of(needs, facts);
    path::judge(facts, needs, peers, &mut report);
    space::judge(facts, needs, &mut report);
    sockets::judge(facts, needs, peers, &mut report);
    links::judge(facts, needs, &mut report);
    processors::judge(facts, needs, &mut report);
    numa::judge(facts, needs, &mut report);
    clock::judge(facts, needs, &mut report);
    report.sort();
    report
}
