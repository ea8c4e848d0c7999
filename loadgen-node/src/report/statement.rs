//! Statement about the network between client and server: interconnect, hops and measured latency.
//! The rules of MLPerf Endpoints (section 2.1.1) require it from a submitter who hosts both.

use std::fmt::Write as _;

use netdiv_node_common::words::TODO;

use crate::{
    fabric::{
        figures::{Bandwidth, Direction, Link, Route},
        report::Report,
    },
    units::{gigabits, size},
};

pub(crate) fn markdown(report: &Report) -> String {
    let Report { version, started, host, transport, tls, connections_per_node, .. } = report;
    let host = host.as_deref().unwrap_or("the client's machine");
    let security = if *tls { "with" } else { "without" };
    let mut text = format!(
        "# Network between client and server\n\nMeasured by netdiv {version} on {host}, starting at {started}: messages over {transport} {security} TLS, \
         {connections_per_node} connections to each server.\n\n## Interconnect and hops\n\n\
         | server | host | address | client's interface | server's interface |\n|---|---|---|---|---|\n"
    );
    for route in &report.routes {
        let Route { node, node_host, address, link, node_link, .. } = route;
        let cells = [
            node.clone(),
            node_host.clone(),
            address.clone(),
            interface(link),
            interface(node_link),
        ];
        let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    let _ = writeln!(
        text,
        "\nHops: {TODO}: write how many routers and switches are on the path, with their models.\n\n## Baseline latency\n\nRound trips of one message at a time, without other load.\n\n\
         | server | message | round trips | p50, µs | p90, µs | p99, µs | max, µs |\n|---|---|---|---|---|---|---|"
    );
    for trip in &report.round_trips {
        let microseconds = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        let [p50, p90, p99, max] =
            [trip.p50_ns, trip.p90_ns, trip.p99_ns, trip.max_ns].map(microseconds);
        let (node, count) = (&trip.node, trip.count);
        let message = size(trip.message_bytes);
        let _ = writeln!(text, "| {node} | {message} | {count} | {p50} | {p90} | {p99} | {max} |");
    }
    text += "\n## Bandwidth\n\nAll servers together, the median of the rounds, in Gbit/s.\n\n| message | to the servers | from the servers | both ways |\n\
             |---|---|---|---|\n";
    let mut sizes: Vec<_> = report.bandwidth.iter().map(|cell| cell.message_bytes).collect();
    sizes.dedup();
    for bytes in sizes {
        let of = |direction| rate(&report.bandwidth, bytes, direction);
        let [to, from, both] = Direction::ALL.map(of);
        let _ = writeln!(text, "| {} | {to} | {from} | {both} |", size(bytes));
    }
    text
}

fn interface(link: &Option<Link>) -> String {
    link.as_ref().map_or_else(|| "not known".into(), Link::to_string)
}

fn rate(cells: &[Bandwidth], bytes: usize, direction: Direction) -> String {
    let is_it = |cell: &&Bandwidth| cell.message_bytes == bytes && cell.direction == direction;
    let cell = cells.iter().find(is_it);
    cell.map_or_else(String::new, |cell| gigabits(cell.bytes_per_second()))
}
