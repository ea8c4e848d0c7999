//! Judgement of the used interfaces.

use crate::{
    doctor::{
        facts::{Facts, interface, mtu, speed},
        finding::{Draft, Id},
        needs::Needs,
        report::Report,
    },
    evidence::{Interface, LinkState},
};
use netdiv_node_common::sanitise::shell_word;

/// Minimum speed of an interface, in Mb/s, from which the doctor reports an MTU of [`STANDARD`]
/// bytes or less.
const FAST: u64 = 10_000;

/// Ethernet's standard MTU, in bytes.
const STANDARD: u64 = 1500;

/// Length of the headers of IPv4 and UDP, in bytes. The header of IPv6 is longer.
const HEADERS: u64 = 28;

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    for name in report.links().to_owned() {
        // The machine's interfaces do not include loopback.
        let Some(link) = interface(&facts.machine, &name) else { continue };
        frames(link, needs, report);
        match facts.condition.links.iter().find(|state| state.name == name) {
            None => report.unknown("link", &[("link", name.clone())]),
            Some(state) => hardware(state, report),
        }
        if speed(link).is_none() {
            report.unknown("speed", &[("link", name)]);
        }
    }
}

fn frames(link: &Interface, needs: &Needs, report: &mut Report) {
    let name = &link.name;
    let Some(mtu) = mtu(link) else {
        return report.unknown("mtu", &[("link", name.clone())]);
    };
    if speed(link).is_some_and(|speed| speed >= FAST) && mtu <= STANDARD {
        let draft = Draft::of(Id::StandardFrames, name).fact("mtu", mtu);
        report.add(draft.fact("link", shell_word(name)));
    }
    let payload = needs.quic_mtu.filter(|_| needs.udp_buffer_bytes.is_some());
    let room = mtu.saturating_sub(HEADERS);
    if let Some(payload) = payload.filter(|payload| u64::from(*payload) > room) {
        let draft = Draft::of(Id::QuicMtu, name).fact("payload", payload).fact("mtu", mtu);
        report.add(draft.fact("room", room));
    }
}

fn hardware(state: &LinkState, report: &mut Report) {
    let name = &state.name;
    let link = || shell_word(name);
    match state.duplex.as_deref() {
        None => report.unknown("duplex", &[("link", name.clone())]),
        Some("half") => {
            report.add(Draft::of(Id::HalfDuplex, name).fact("link", link()));
        }
        Some(_) => {}
    }
    match &state.offloads {
        None => report.unknown("offloads", &[("link", name.clone())]),
        Some(offloads) => {
            let off = offloads.iter().filter(|offload| !offload.is_on && !offload.is_fixed);
            let off: Vec<_> = off.map(|offload| offload.word).collect();
            if !off.is_empty() {
                let switches: Vec<_> = off.iter().flat_map(|word| [word, "on"]).collect();
                let draft = Draft::of(Id::Offloads, name).fact("off", off.join(", "));
                report.add(draft.fact("link", link()).fact("switches", switches.join(" ")));
            }
        }
    }
    missed(state, report);
}

fn missed(state: &LinkState, report: &mut Report) {
    let name = &state.name;
    let Some(missed) = state.missed_frames else {
        return report.unknown("missed-frames", &[("link", name.clone())]);
    };
    if missed == 0 {
        return;
    }
    let draft = Draft::of(Id::MissedFrames, name).fact("missed", missed);
    let draft = draft.fact("link", shell_word(name));
    report.add(match state.receive_ring {
        Some((now, most)) if now < most => draft.fact("maximum", most).remedy("longer"),
        Some((now, _)) => draft.fact("entries", now).remedy("full"),
        None => draft.remedy("unknown"),
    });
}
