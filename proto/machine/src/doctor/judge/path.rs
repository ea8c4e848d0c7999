//! Judgement of the nodes, their responses, and the paths to them.

use netdiv_node_common::sanitise::{sanitise, shell_word};

use crate::{
    doctor::{
        facts::{Facts, Peer, PeerFacts, interface, mtu, speed},
        finding::{Draft, Id, subject},
        needs::Needs,
        report::{AskedNode, Report},
    },
    evidence::{Interface, Machine},
};

/// Judges the identity of the nodes: reports each node that did not reply, runs another version, or
/// runs on this machine.
pub(super) fn identity(facts: &Facts, needs: &Needs, peers: &[Peer], report: &mut Report) {
    let ours = needs.program.rsplit_once(' ').map_or("", |(_, version)| version);
    for peer in peers {
        let node = match &peer.answer {
            Ok(node) => node,
            Err(why) => {
                report.add(Draft::of(Id::NodeUnusable, &peer.address).fact("why", sanitise(why)));
                continue;
            }
        };
        let about = subject(&peer.address, &node.name);
        if node.version != ours {
            let draft =
                Draft::of(Id::VersionDiffers, &about).fact("theirs", sanitise(&node.version));
            report.add(draft.fact("ours", ours));
        }
        if is_here(facts, node) {
            report.add(Draft::of(Id::SameMachine, about));
        }
    }
}

/// Judges the paths to nodes on other machines.
pub(super) fn judge_paths(facts: &Facts, peers: &[Peer], report: &mut Report) {
    for peer in peers {
        let Some(node) = peer.answer.as_ref().ok().filter(|node| !is_here(facts, node)) else {
            continue;
        };
        let about = subject(&peer.address, &node.name);
        let Some(name) = &peer.interface else {
            report.unknown("interface", &[("node", about)]);
            continue;
        };
        match (interface(&facts.machine, name), of_route(&node.machine)) {
            (Some(here), Some(there)) => ends(&about, here, there, report),
            _ => report.unknown("ends", &[("node", about)]),
        }
    }
}

fn is_here(facts: &Facts, node: &PeerFacts) -> bool {
    let boot = facts.machine.boot_id.as_ref();
    boot.is_some() && boot == node.machine.boot_id.as_ref()
}

/// Judges the responses of nodes to one sample.
pub(super) fn answers(nodes: &[AskedNode], report: &mut Report) {
    for node in nodes {
        // A node without a description has no response to judge.
        let Some(name) = &node.node else { continue };
        let about = subject(&node.address, name);
        match &node.failure {
            Some(why) => report.add(Draft::of(Id::AnswerMissing, about).fact("why", sanitise(why))),
            None if node.differs => report.add(Draft::of(Id::AnswerDiffers, about)),
            None if node.sampled && !node.answers.is_empty() => {
                report.unknown("sampled", &[("node", about)]);
            }
            None => {}
        }
    }
}

/// Returns the interface of a machine's first route, through which its node replies.
fn of_route(machine: &Machine) -> Option<&Interface> {
    interface(machine, machine.routes.first()?.interface.as_ref()?)
}

fn ends(about: &str, here: &Interface, there: &Interface, report: &mut Report) {
    let far = sanitise(&there.name);
    let differ = |id, ours: u64, theirs: u64| {
        let draft = Draft::of(id, about).fact("here", &here.name).fact("there", &far);
        draft.fact("ours", ours).fact("theirs", theirs)
    };
    match (mtu(here), mtu(there)) {
        (Some(ours), Some(theirs)) if ours < theirs => {
            let draft = differ(Id::MtuDiffers, ours, theirs).fact("mtu", theirs);
            report.add(draft.fact("link", shell_word(&here.name)).remedy("here"));
        }
        (Some(ours), Some(theirs)) if ours > theirs => {
            let draft = differ(Id::MtuDiffers, ours, theirs).fact("mtu", ours);
            report.add(draft.fact("link", sanitise(&shell_word(&there.name))).remedy("there"));
        }
        (Some(_), Some(_)) => {}
        _ => report.unknown("mtus", &[("node", about.to_owned())]),
    }
    match (speed(here), speed(there)) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            report.add(differ(Id::SpeedDiffers, ours, theirs));
        }
        (Some(_), Some(_)) => {}
        _ => report.unknown("speeds", &[("node", about.to_owned())]),
    }
}
