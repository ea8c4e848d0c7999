//! The ways to the nodes, and the nodes.

use netdiv_contract::said::{said, shell_word};
use netdiv_evidence::{Interface, Machine};

use crate::{
    facts::{Facts, Peer, PeerFacts, interface, mtu, speed},
    finding::{Finding, Remedy, Severity},
    id::Id,
    needs::Needs,
    report::Report,
};

pub(super) fn judge(facts: &Facts, needs: &Needs, peers: &[Peer], report: &mut Report) {
    for peer in peers {
        match &peer.answer {
            Ok(node) => judge_one(facts, needs, peer, node, report),
            Err(why) => {
                let remedy = Remedy::advice(
                    "start the node, or correct its address in --nodes; then `loadgen-node nodes` answers",
                );
                let about = said(&peer.address);
                report.add(Finding::new(
                    Id::NodeUnusable,
                    Severity::Problem,
                    about,
                    said(why),
                    remedy,
                ));
            }
        }
    }
}

fn judge_one(facts: &Facts, needs: &Needs, peer: &Peer, node: &PeerFacts, report: &mut Report) {
    let about = format!("node {} at {}", said(&node.name), said(&peer.address));
    let own = needs.program.rsplit_once(' ').map_or("", |(_, version)| version);
    if node.version != own {
        let seen = format!("the node has version {}, this program {own}", said(&node.version));
        let remedy = Remedy::advice("install the same release on both");
        report.add(Finding::new(Id::VersionDiffers, Severity::Warning, &about, seen, remedy));
    }
    let theirs = &node.machine;
    let boot = facts.machine.boot_id.as_ref();
    if boot.is_some() && boot == theirs.boot_id.as_ref() {
        let seen = "it runs on this machine";
        let remedy = Remedy::advice("start the node on a machine of its own");
        report.add(Finding::new(Id::SameMachine, Severity::Note, about, seen, remedy));
        // There is no way between them.
        return;
    }
    let Some(name) = &peer.interface else {
        return report.unknown(format!("the interface that leads to {about}"));
    };
    let (Some(here), Some(there)) = (interface(&facts.machine, name), of_route(theirs)) else {
        return report.unknown(format!("the interfaces at both ends of the way to {about}"));
    };
    ends(&about, here, there, report);
}

/// The interface by which a node answers.
fn of_route(machine: &Machine) -> Option<&Interface> {
    interface(machine, machine.routes.first()?.interface.as_ref()?)
}

fn ends(about: &str, here: &Interface, there: &Interface, report: &mut Report) {
    let far = said(&there.name);
    match (mtu(here), mtu(there)) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let seen = format!(
                "the MTU of {} is {ours} bytes here, and of {far} there {theirs}",
                here.name
            );
            let (link, wanted) =
                if ours < theirs { (&here.name, theirs) } else { (&there.name, ours) };
            let command = format!("ip link set dev {} mtu {wanted}", shell_word(link));
            // What a node says is not made a command of this machine's shell.
            let remedy = if ours < theirs {
                Remedy::command(command)
            } else {
                Remedy::advice(format!("on the node's machine: {}", said(&command)))
            };
            report.add(Finding::new(Id::MtuDiffers, Severity::Warning, about, seen, remedy));
        }
        (Some(_), Some(_)) => {}
        _ => report.unknown(format!("the MTUs at both ends of the way to {about}")),
    }
    match (speed(here), speed(there)) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let seen = format!("{} has {ours} Mb/s here, and {far} there {theirs}", here.name);
            let remedy = Remedy::advice("use ports of one speed, or count with the slower one");
            report.add(Finding::new(Id::SpeedDiffers, Severity::Note, about, seen, remedy));
        }
        (Some(_), Some(_)) => {}
        _ => report.unknown(format!("the speeds at both ends of the way to {about}")),
    }
}
