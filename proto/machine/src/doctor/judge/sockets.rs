//! Judgement of socket buffers, and of the limit on waiting connections.

use std::time::Duration;

use crate::doctor::{
    facts::{Facts, Peer, speed},
    finding::{Draft, Id},
    needs::Needs,
    report::Report,
};

/// Assumed round trip if no node was asked.
const ROUND_TRIP: Duration = Duration::from_millis(1);

/// Ratio of a socket buffer's size to the bytes that it can hold. The kernel uses about half of the
/// buffer for bookkeeping (net.ipv4.tcp_adv_win_scale).
const BOOKKEEPING: f64 = 2.0;

/// Kernel setting that limits the number of connections which wait to be accepted.
const WAITING: &str = "net.core.somaxconn";

pub(super) fn judge(facts: &Facts, needs: &Needs, peers: &[Peer], report: &mut Report) {
    let limits = &facts.condition.sockets;
    if let Some(wanted) = needs.udp_buffer_bytes {
        for (id, key, most) in [
            (Id::UdpReceiveBuffer, "net.core.rmem_max", limits.receive_max),
            (Id::UdpSendBuffer, "net.core.wmem_max", limits.send_max),
        ] {
            judge_limit(Draft::of_machine(id), key, most, wanted, report);
        }
    }
    if let Some(window) = needs.tcp_window_bytes {
        tcp(facts, window, peers, report);
    }
    if needs.connections > 0 {
        let draft = Draft::of_machine(Id::WaitingConnections);
        judge_limit(draft, WAITING, limits.waiting_max, needs.connections, report);
    }
}

/// Adds the finding `draft` if the kernel's setting `key` is less than wanted.
fn judge_limit(draft: Draft, key: &str, limit: Option<u64>, wanted: u64, report: &mut Report) {
    match limit {
        None => report.unknown("key", &[("key", key.to_owned())]),
        Some(limit) if limit < wanted => {
            report.add(draft.fact("key", key).fact("limit", limit).fact("wanted", wanted));
        }
        Some(_) => {}
    }
}

/// Compares TCP's buffers with the bytes in flight on the fastest link.
fn tcp(facts: &Facts, window: u64, peers: &[Peer], report: &mut Report) {
    let limits = &facts.condition.sockets;
    let asked = peers.iter().filter_map(|peer| Some(peer.answer.as_ref().ok()?.round_trip)).max();
    let round_trip = asked.unwrap_or(ROUND_TRIP);
    let links = report.links().to_owned();
    let speeds = facts.machine.interfaces.iter().filter(|link| links.contains(&link.name));
    let fastest = speeds.filter_map(|link| Some((speed(link)?, &link.name))).max();
    let Some((mbit, name)) = fastest else { return };
    let flying = mbit as f64 * 1e6 / 8.0 * round_trip.as_secs_f64();
    let wanted = (flying.min(window as f64) * BOOKKEEPING).ceil() as u64;
    for (id, key, most) in [
        (Id::TcpReceiveBuffer, "net.ipv4.tcp_rmem", limits.tcp_receive_max),
        (Id::TcpSendBuffer, "net.ipv4.tcp_wmem", limits.tcp_send_max),
    ] {
        let ms = format!("{:.2}", round_trip.as_secs_f64() * 1e3);
        let draft = Draft::of_machine(id).fact("link", name).fact("mbit", mbit).fact("ms", ms);
        judge_limit(draft, key, most, wanted, report);
    }
}
