//! Judgement, with a file for each subject. Each depends on facts and needs alone; the texts are in
//! `findings.toml`.

mod clock;
mod links;
mod path;
mod processors;
mod sockets;
mod space;

use crate::doctor::{
    facts::{Facts, Peer},
    needs::{LinkSelection, Needs},
    report::{AskedNode, Report, SentSample},
};

/// Judges only the identity of the nodes: reports each node that did not reply, runs another
/// version, or runs on this machine.
pub fn identify(facts: &Facts, program: impl Into<String>, peers: &[Peer]) -> Report {
    let links = LinkSelection::Named(Vec::new());
    let needs = Needs { program: program.into(), links, ..Needs::default() };
    let mut report = Report::of(&needs, facts);
    path::identity(facts, &needs, peers, &mut report);
    report.sort();
    report
}

/// Judges this machine, and the paths to the nodes.
pub fn examine(facts: &Facts, needs: &Needs, peers: &[Peer]) -> Report {
    let mut report = Report::of(needs, facts);
    path::identity(facts, needs, peers, &mut report);
    path::judge_paths(facts, peers, &mut report);
    space::judge(facts, needs, &mut report);
    sockets::judge(facts, needs, peers, &mut report);
    links::judge(facts, needs, &mut report);
    processors::judge(facts, needs, &mut report);
    processors::judge_numa(facts, needs, &mut report);
    clock::judge(facts, needs, &mut report);
    report.sort();
    report
}

impl Report {
    /// Adds the nodes that were asked, and judges their responses to a sample.
    pub fn with_nodes(mut self, nodes: Vec<AskedNode>, sample: Option<SentSample>) -> Self {
        path::answers(&nodes, &mut self);
        self.sort();
        self.keep(nodes, sample);
        self
    }
}
