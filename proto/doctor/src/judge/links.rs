//! The interfaces that are used.

use netdiv_contract::said::shell_word;
use netdiv_evidence::{Interface, LinkState};

use crate::{
    facts::{Facts, interface, mtu, speed},
    finding::{Finding, Remedy, Severity},
    id::Id,
    needs::Needs,
    report::Report,
};

/// From this speed on longer frames are worth a note, in Mb/s.
const FAST: u64 = 10_000;

/// Ethernet's standard, and what is called jumbo frames, in bytes.
const STANDARD: u64 = 1500;
const JUMBO: u64 = 9000;

/// Headers of IPv4, which are shorter than those of IPv6, and UDP, in bytes.
const HEADERS: u64 = 28;

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    for name in report.links().to_owned() {
        // One that is not listed is loopback.
        let Some(link) = interface(&facts.machine, &name) else { continue };
        frames(link, needs, report);
        match facts.condition.links.iter().find(|state| state.name == name) {
            None => report.unknown(format!("the state of {name}")),
            Some(state) => hardware(state, report),
        }
        if speed(link).is_none() {
            report.unknown(format!("the speed of {name}"));
        }
    }
}

fn frames(link: &Interface, needs: &Needs, report: &mut Report) {
    let name = &link.name;
    let Some(mtu) = mtu(link) else { return report.unknown(format!("the MTU of {name}")) };
    if speed(link).is_some_and(|speed| speed >= FAST) && mtu <= STANDARD {
        let seen = format!("the MTU is {mtu} bytes");
        let remedy = Remedy::command(format!("ip link set dev {} mtu {JUMBO}", shell_word(name)));
        report.add(Finding::new(Id::StandardFrames, Severity::Note, name, seen, remedy));
    }
    let payload = needs.quic_mtu.filter(|_| needs.udp_buffer_bytes.is_some());
    let room = mtu.saturating_sub(HEADERS);
    if let Some(payload) = payload.filter(|payload| u64::from(*payload) > room) {
        let seen = format!(
            "--quic-mtu is {payload} bytes, and the MTU of {mtu} has room for {room} behind the headers"
        );
        let remedy = Remedy::advice(format!(
            "give --quic-mtu {room} or less (over IPv6 20 less), or raise the MTU of every interface and switch on the way"
        ));
        report.add(Finding::new(Id::QuicMtu, Severity::Warning, name, seen, remedy));
    }
}

fn hardware(state: &LinkState, report: &mut Report) {
    let name = &state.name;
    match state.duplex.as_deref() {
        None => report.unknown(format!("the duplex of {name}")),
        Some("half") => {
            let remedy = Remedy::command(format!("ethtool -s {} autoneg on", shell_word(name)));
            let seen = "it sends and receives in turn (half duplex)";
            report.add(Finding::new(Id::HalfDuplex, Severity::Problem, name, seen, remedy));
        }
        Some(_) => {}
    }
    match &state.offloads {
        None => report.unknown(format!("the offloads of {name}")),
        Some(offloads) => {
            let off = offloads.iter().filter(|offload| !offload.is_on && !offload.is_fixed);
            let off: Vec<_> = off.map(|offload| offload.word).collect();
            if !off.is_empty() {
                let words: Vec<_> = off.iter().map(|word| format!("{word} on")).collect();
                let command = format!("ethtool -K {} {}", shell_word(name), words.join(" "));
                let seen = format!("off: {}", off.join(", "));
                let remedy = Remedy::command(command);
                report.add(Finding::new(Id::Offloads, Severity::Warning, name, seen, remedy));
            }
        }
    }
    missed(state, report);
}

fn missed(state: &LinkState, report: &mut Report) {
    let name = &state.name;
    let Some(missed) = state.missed_frames else {
        return report.unknown(format!("frames that {name} has dropped"));
    };
    if missed == 0 {
        return;
    }
    let seen = format!("{missed} frames found no room since it came up");
    let remedy = match state.receive_ring {
        Some((now, most)) if now < most => {
            Remedy::command(format!("ethtool -G {} rx {most}", shell_word(name)))
        }
        Some((now, _)) => Remedy::advice(format!(
            "its receive ring has all of its {now} entries already: spread its interrupts over more cores (ethtool -l, -L), or look \
             for pauses of the machine"
        )),
        None => Remedy::advice(format!(
            "lengthen its receive ring: ethtool -g {0} shows how far it goes, ethtool -G {0} rx N sets it",
            shell_word(name)
        )),
    };
    report.add(Finding::new(Id::MissedFrames, Severity::Note, name, seen, remedy));
}
