//! The figures as text.

use std::fmt::Write as _;

use super::report::{Bandwidth, Rate, Report};

/// A few tables for a terminal.
pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(report, &mut text);
    text
}

fn write(report: &Report, text: &mut String) -> std::fmt::Result {
    let Report { connections_per_node, streams_per_connection, .. } = report;
    writeln!(
        text,
        "fabric over {}{}: {connections_per_node} connections to each node, {streams_per_connection} streams on each",
        report.transport,
        if report.tls { " with TLS" } else { "" },
    )?;
    for route in &report.routes {
        let unknown = || "unknown".to_owned();
        writeln!(
            text,
            "  {} at {}: from {} by {}, to its {}",
            route.node,
            route.address,
            route.local_address.clone().unwrap_or_else(unknown),
            route.link.as_ref().map_or_else(unknown, ToString::to_string),
            route.node_link.as_ref().map_or_else(unknown, ToString::to_string),
        )?;
    }
    writeln!(
        text,
        "\n{:<24}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "round trip, µs", "p50", "p90", "p99", "p99.9", "max"
    )?;
    for trip in &report.round_trips {
        let us = |ns: u64| format!("{:.0}", ns as f64 / 1000.0);
        writeln!(
            text,
            "  {:<12}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}",
            trip.node,
            size(trip.message_bytes),
            us(trip.p50_ns),
            us(trip.p90_ns),
            us(trip.p99_ns),
            us(trip.p99_9_ns),
            us(trip.max_ns)
        )?;
    }
    writeln!(
        text,
        "\n{:<12}{:>22}{:>22}{:>24}",
        "GB/s", "to nodes", "from nodes", "both ways (to + from)"
    )?;
    for cells in report.bandwidth.chunks(3) {
        let [to, from, both] = cells else { continue };
        writeln!(
            text,
            "  {:<10}{:>22}{:>22}{:>24}",
            size(to.message_bytes),
            one_way(&to.total, to.total.bytes_per_second_to_nodes),
            one_way(&from.total, from.total.bytes_per_second_from_nodes),
            format!(
                "{} + {}",
                gigabytes(both.total.bytes_per_second_to_nodes),
                gigabytes(both.total.bytes_per_second_from_nodes)
            )
        )?;
    }
    parts(report, text)?;
    link(report, text)?;
    writeln!(
        text,
        "\n{:<22}{:>16}{:>16}{:>16}{:>16}",
        "Appendix B", "bytes in", "bytes out", "carries /s", "target /s"
    )?;
    for benchmark in &report.benchmarks {
        let verdict = match benchmark.carried {
            None => "",
            Some(true) => "  carried",
            Some(false) => "  NOT CARRIED",
        };
        let target = benchmark.target_samples_per_second;
        writeln!(
            text,
            "  {:<20}{:>16}{:>16}{:>16.0}{:>16}{verdict}",
            benchmark.name,
            benchmark.ingress_bytes_per_sample,
            benchmark.egress_bytes_per_sample,
            benchmark.carries_samples_per_second,
            target.map_or_else(String::new, |rate| format!("{rate:.0}")),
        )?;
    }
    Ok(())
}

/// The cell with the most bytes per second, node by node and stream by stream.
fn parts(report: &Report, text: &mut String) -> std::fmt::Result {
    let most = |cell: &&Bandwidth| cell.total.bytes_per_second_to_nodes;
    let to_nodes = report.bandwidth.iter().filter(|cell| cell.direction == "to nodes");
    let Some(cell) = to_nodes.max_by(|a, b| most(a).total_cmp(&most(b))) else { return Ok(()) };
    if cell.streams.len() < 2 {
        return Ok(());
    }
    writeln!(text, "\nto nodes at {}, GB/s", size(cell.message_bytes))?;
    for (kind, rates) in [("node", &cell.nodes), ("stream", &cell.streams)] {
        for rate in rates {
            let bytes = gigabytes(rate.bytes_per_second_to_nodes);
            writeln!(text, "  {kind:<8}{:<16}{bytes:>8}", rate.name)?;
        }
    }
    Ok(())
}

/// The best bandwidth beside what the interfaces say.
fn link(report: &Report, text: &mut String) -> std::fmt::Result {
    let mut interfaces: Vec<_> = report
        .routes
        .iter()
        .filter_map(|route| route.link.as_ref())
        .filter_map(|link| Some((link.interface.as_str(), link.speed_mbit_per_second?)))
        .collect();
    interfaces.sort_unstable();
    interfaces.dedup();
    if interfaces.is_empty() {
        return Ok(());
    }
    let speed = interfaces.iter().map(|(_, speed)| *speed as f64 * 1e6 / 8.0).sum::<f64>();
    let best = |pick: fn(&Rate) -> f64| {
        report.bandwidth.iter().map(|cell| pick(&cell.total)).fold(0.0, f64::max)
    };
    let to = best(|rate| rate.bytes_per_second_to_nodes);
    let from = best(|rate| rate.bytes_per_second_from_nodes);
    writeln!(
        text,
        "\nof the interfaces' {} GB/s: {:.0} % to nodes, {:.0} % from nodes",
        gigabytes(speed),
        100.0 * to / speed,
        100.0 * from / speed
    )
}

fn one_way(rate: &Rate, bytes_per_second: f64) -> String {
    format!("{} ({:.0}/s)", gigabytes(bytes_per_second), rate.messages_per_second)
}

fn gigabytes(bytes: f64) -> String {
    format!("{:.3}", bytes / 1e9)
}

/// A message size in words.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}
