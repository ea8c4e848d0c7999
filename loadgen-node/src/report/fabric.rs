//! The tables of `loadgen-node fabric`.

use super::table;
use crate::fabric::figures::{Bandwidth, Benchmark, Direction, Rate, Report, RoundTrip, Route};

/// The figures for the terminal.
pub(crate) fn render(report: &Report) -> String {
    let Report { connections_per_node, streams_per_connection, .. } = report;
    let mut head = vec![format!(
        "fabric over {}{}: {connections_per_node} connections to each node, {streams_per_connection} streams on each",
        report.transport,
        if report.tls { " with TLS" } else { "" },
    )];
    head.extend(report.routes.iter().map(route));
    let parts = [
        Some(head.join("\n")),
        Some(round_trips(&report.round_trips)),
        Some(bandwidth(&report.bandwidth)),
        by_node_and_stream(&report.bandwidth),
        share_of_link(report),
        Some(benchmarks(&report.benchmarks)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

fn route(route: &Route) -> String {
    let unknown = || "unknown".to_owned();
    format!(
        "  {} at {}: from {} by {}, to its {}",
        route.node,
        route.address,
        route.local_address.clone().unwrap_or_else(unknown),
        route.link.as_ref().map_or_else(unknown, ToString::to_string),
        route.node_link.as_ref().map_or_else(unknown, ToString::to_string),
    )
}

fn round_trips(trips: &[RoundTrip]) -> String {
    let us = |ns: u64| format!("{:.0}", ns as f64 / 1000.0);
    let row = |trip: &RoundTrip| {
        [
            trip.node.clone(),
            size(trip.message_bytes),
            us(trip.p50_ns),
            us(trip.p90_ns),
            us(trip.p99_ns),
            us(trip.p99_9_ns),
            us(trip.max_ns),
        ]
    };
    let titles = ["round trip, µs", "message", "p50", "p90", "p99", "p99.9", "max"];
    table::table(titles, 1, trips.iter().map(row))
}

fn bandwidth(cells: &[Bandwidth]) -> String {
    let row = |cells: &[Bandwidth]| {
        let [to, from, both] = cells else { return None };
        let (to_nodes, from_nodes) =
            (both.total.bytes_per_second_to_nodes, both.total.bytes_per_second_from_nodes);
        Some([
            size(to.message_bytes),
            one_way(&to.total, to.total.bytes_per_second_to_nodes),
            one_way(&from.total, from.total.bytes_per_second_from_nodes),
            format!("{} + {}", gigabytes(to_nodes), gigabytes(from_nodes)),
        ])
    };
    let [to, from, both] = Direction::ALL.map(|direction| direction.to_string());
    let both = format!("{both} (to + from)");
    table::table(["GB/s", &to, &from, &both], 0, cells.chunks(3).filter_map(row))
}

/// The cell with the most bytes per second, node by node and stream by stream.
fn by_node_and_stream(cells: &[Bandwidth]) -> Option<String> {
    let most = |cell: &&Bandwidth| cell.total.bytes_per_second_to_nodes;
    let to_nodes = cells.iter().filter(|cell| cell.direction == Direction::ToNodes);
    let cell = to_nodes.max_by(|a, b| most(a).total_cmp(&most(b)))?;
    if cell.streams.len() < 2 {
        return None;
    }
    let rates = |kind: &'static str, rates: &[Rate]| {
        let row = |rate: &Rate| {
            [kind.to_owned(), rate.name.clone(), gigabytes(rate.bytes_per_second_to_nodes)]
        };
        rates.iter().map(row).collect::<Vec<_>>()
    };
    let rows = [rates("node", &cell.nodes), rates("stream", &cell.streams)].concat();
    let title = format!("{} at {}", cell.direction, size(cell.message_bytes));
    Some(table::table([&title, "", "GB/s"], 2, rows))
}

fn benchmarks(benchmarks: &[Benchmark]) -> String {
    let row = |benchmark: &Benchmark| {
        let target = benchmark.target_samples_per_second;
        let verdict = match benchmark.carried {
            None => "",
            Some(true) => "carried",
            Some(false) => "NOT CARRIED",
        };
        [
            benchmark.name.clone(),
            benchmark.ingress_bytes_per_sample.to_string(),
            benchmark.egress_bytes_per_sample.to_string(),
            format!("{:.0}", benchmark.carries_samples_per_second),
            target.map_or_else(String::new, |rate| format!("{rate:.0}")),
            verdict.to_owned(),
        ]
    };
    let titles = ["Appendix B", "bytes in", "bytes out", "carries /s", "target /s", ""];
    table::table(titles, 1, benchmarks.iter().map(row))
}

/// The best bandwidth beside what the interfaces say.
fn share_of_link(report: &Report) -> Option<String> {
    let mut interfaces: Vec<_> = report
        .routes
        .iter()
        .filter_map(|route| route.link.as_ref())
        .filter_map(|link| Some((link.interface.as_str(), link.speed_mbit_per_second?)))
        .collect();
    interfaces.sort_unstable();
    interfaces.dedup();
    if interfaces.is_empty() {
        return None;
    }
    let speed = interfaces.iter().map(|(_, speed)| *speed as f64 * 1e6 / 8.0).sum::<f64>();
    let best = |pick: fn(&Rate) -> f64| {
        report.bandwidth.iter().map(|cell| pick(&cell.total)).fold(0.0, f64::max)
    };
    let to = best(|rate| rate.bytes_per_second_to_nodes);
    let from = best(|rate| rate.bytes_per_second_from_nodes);
    Some(format!(
        "of the interfaces' {} GB/s: {:.0} % to nodes, {:.0} % from nodes",
        gigabytes(speed),
        100.0 * to / speed,
        100.0 * from / speed
    ))
}

fn one_way(rate: &Rate, bytes_per_second: f64) -> String {
    format!("{} ({:.0}/s)", gigabytes(bytes_per_second), rate.messages_per_second)
}

fn gigabytes(bytes: f64) -> String {
    format!("{:.3}", bytes / 1e9)
}

/// A message size.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}
