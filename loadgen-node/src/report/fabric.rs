//! Tables of `loadgen-node fabric`.

use std::collections::BTreeMap;

use super::{
    fabric_matrix,
    fabric_result::{self, best},
    fabric_rounds::{basis, range, rounds},
    part::Part,
    table::TextTable,
};
use crate::{
    fabric::{
        connection_choice::ConnectionTrial,
        figures::{Bandwidth, Benchmark, Direction, OpenLoop, Rate, RoundTrip, Route},
        report::Report,
    },
    record::Shortage,
    units::{gigabits, gigabytes, rate, size},
};

pub(crate) fn render(report: &Report) -> String {
    parts(report).iter().map(Part::to_string).collect::<Vec<_>>().join("\n\n")
}

pub(crate) fn parts(report: &Report) -> Vec<Part> {
    let Report { connections_per_node, streams_per_connection, io_threads, .. } = report;
    let mut head = vec![format!(
        "fabric over {}{}: connections to each node {connections_per_node}, streams on each {streams_per_connection}, \
         I/O threads {io_threads}",
        report.transport,
        if report.tls { " with TLS" } else { "" },
    )];
    head.extend(describe_egress(report));
    head.extend(choice(report));
    head.extend(report.routes.iter().map(route));
    let mut parts = vec![Part::Text(head.join("\n"))];
    if !report.bandwidth.is_empty() {
        parts.extend([
            Part::Table(round_trips(&report.round_trips)),
            Part::Table(bandwidth(&report.bandwidth)),
            Part::Text(rounds(report)),
            Part::Table(effort(&report.bandwidth)),
        ]);
        parts.extend(notes(&report.bandwidth).map(Part::bad));
        parts.extend(by_node_and_stream(&report.bandwidth).map(Part::Table));
        parts.extend(slow_nodes(report).map(Part::bad));
        parts.extend(share_of_link(report).map(Part::Text));
    }
    parts.extend(report.matrix.iter().flat_map(|matrix| fabric_matrix::parts(matrix, report)));
    if let Some(cell) = &report.soak {
        parts.push(Part::Table(soak(cell)));
        parts.extend(notes(std::slice::from_ref(cell)).map(Part::bad));
    }
    if !report.open_loop.is_empty() {
        parts.push(Part::Table(open_loop(&report.open_loop)));
    }
    if !report.benchmarks.is_empty() {
        parts.push(Part::Table(benchmarks(&report.benchmarks)));
    }
    parts.extend(fabric_result::sentence(report).map(Part::Text));
    parts
}

fn describe_egress(report: &Report) -> Option<String> {
    let chosen: Vec<_> = report.way_out().map(|(what, value)| format!("{what} {value}")).collect();
    (!chosen.is_empty()).then(|| format!("  egress of this machine: {}", chosen.join(", ")))
}

/// Describes how the number of connections was chosen.
fn choice(report: &Report) -> Option<String> {
    let rate = |tried: &ConnectionTrial| {
        format!("{} {} GB/s", tried.connections, gigabytes(tried.bytes_per_second))
    };
    let tried: Vec<_> = report.tried.iter().map(rate).collect();
    (!tried.is_empty()).then(|| format!("  connections tried, both ways: {}", tried.join(", ")))
}

/// Returns a table of the effort behind the figures: the range of the rounds, the processor time of
/// both ends, and the counts of the transport.
fn effort(cells: &[Bandwidth]) -> TextTable {
    let row = |cell: &Bandwidth| {
        let path = cell.path.as_ref();
        let far = cell.far_ends.iter().map(|far| far.processor_seconds_per_byte);
        let far = far.flatten().reduce(f64::max);
        [
            format!("{} {}", size(cell.message_bytes), cell.direction),
            range(cell).unwrap_or_else(|| "–".into()),
            nanos(cell.processor_seconds_per_byte),
            nanos(far),
            or_empty(cell.busiest_io_thread, |share| format!("{:.0} %", share * 100.0)),
            or_empty(path, |path| path.sent_again.to_string()),
            or_empty(path, |path| format!("{:.1}", path.most_round_trip_us as f64 / 1e3)),
            or_empty(path, |path| format!("{:.1}", path.congestion_window_bytes as f64 / 1e6)),
            bound_by(cell).to_owned(),
        ]
    };
    let titles = [
        "payload; both ways: the sum",
        "GB/s, rounds",
        "CPU ns/B",
        "nodes' ns/B",
        "I/O thread",
        "resent",
        "RTT, ms",
        "cwnd, MB",
        "bound by",
    ];
    TextTable::new(titles, 1, cells.iter().map(row))
}

/// Returns the limit of a rate, if it is not the network.
pub(super) fn bound_by(cell: &Bandwidth) -> &'static str {
    match (cell.is_bound_by_processor(), &cell.shortages[..]) {
        (true, _) => "PROCESSOR",
        (false, []) => "",
        (false, _) => "BUSY",
    }
}

fn nanos(seconds: Option<f64>) -> String {
    or_empty(seconds, |seconds| format!("{:.2}", seconds * 1e9))
}

fn or_empty<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or_else(String::new, shown)
}

/// Returns notes on saturated I/O threads, busy machines, and nodes that did not count all messages.
fn notes(cells: &[Bandwidth]) -> Option<String> {
    let bound = cells.iter().any(Bandwidth::is_bound_by_processor).then(|| {
        "bound by PROCESSOR: an I/O thread of this machine was saturated, so the network may carry more; \
         raise --connections and --io-threads, or use more machines"
            .to_owned()
    });
    let wrong = cells.iter().flat_map(|cell| cell.far_ends.iter().map(move |far| (cell, far)));
    let wrong = wrong.filter(|(_, far)| far.messages_sent != far.messages_received);
    let wrong = wrong.map(|(cell, far)| {
        format!(
            "{} {}: {} messages were sent to {}, which counted {}",
            size(cell.message_bytes),
            cell.direction,
            far.messages_sent,
            far.node,
            far.messages_received
        )
    });
    // The longest lack of each program.
    let mut busy = BTreeMap::<&str, &Shortage>::new();
    for shortage in cells.iter().flat_map(|cell| &cell.shortages) {
        let longest = busy.entry(&shortage.program).or_insert(shortage);
        if shortage.lacked_share() > longest.lacked_share() {
            *longest = shortage;
        }
    }
    let busy = busy.values().map(|shortage| {
        format!(
            "bound by BUSY: {shortage}, so the network may carry more; let nothing else run there, or use more processors"
        )
    });
    let notes: Vec<_> = bound.into_iter().chain(busy).chain(wrong).collect();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

fn soak(cell: &Bandwidth) -> TextTable {
    let ms = |ns: Option<u64>| or_empty(ns, |ns| format!("{:.2}", ns as f64 / 1e6));
    let rates = cell
        .intervals
        .iter()
        .map(|interval| interval.bytes_per_second_to_nodes + interval.bytes_per_second_from_nodes);
    let slowest = rates.fold(f64::MAX, f64::min);
    let facts = [
        ("message, each way", size(cell.message_bytes)),
        ("seconds", format!("{:.0}", cell.seconds)),
        ("to nodes", rate(cell.total.bytes_per_second_to_nodes)),
        ("from nodes", rate(cell.total.bytes_per_second_from_nodes)),
        ("both ways, slowest second", rate(slowest)),
        ("latency under this load, ms: p50", ms(cell.p50_ns)),
        ("p99", ms(cell.p99_ns)),
        ("p99.9", ms(cell.p99_9_ns)),
        ("longest time without an answer, ms", cell.longest_gap_ms.to_string()),
        ("resent by the transport", or_empty(cell.path.as_ref(), |p| p.sent_again.to_string())),
    ];
    let rows = facts.into_iter().map(|(what, value)| [what.to_owned(), value]);
    TextTable::new(["soak", ""], 1, rows)
}

fn open_loop(runs: &[OpenLoop]) -> TextTable {
    let us = |ns: u64| format!("{:.0}", ns as f64 / 1000.0);
    let row = |run: &OpenLoop| {
        let sizes = format!("{} / {}", size(run.message_bytes), size(run.answer_bytes));
        [
            run.benchmark.clone().unwrap_or_default(),
            sizes,
            format!("{}", run.rate_messages_per_second),
            format!("{:.1}", run.answered_per_second),
            format!("{:.1}", run.waited_ms / 1e3),
            us(run.p50_ns),
            us(run.p99_ns),
            us(run.p99_9_ns),
            us(run.max_ns),
            if run.kept { "" } else { "NOT KEPT" }.to_owned(),
        ]
    };
    let titles = [
        "open loop, µs",
        "message / answer",
        "rate/s",
        "answered/s",
        "waited, s",
        "p50",
        "p99",
        "p99.9",
        "max",
        "",
    ];
    TextTable::new(titles, 2, runs.iter().map(row))
}

/// Names the nodes that are slow in the best cell of each direction.
fn slow_nodes(report: &Report) -> Option<String> {
    let named = Direction::ALL.iter().filter_map(|direction| {
        let best = best(&report.bandwidth, *direction)?;
        let (slow, usual) = best.slow_nodes()?;
        let slow: Vec<_> = slow
            .iter()
            .map(|node| format!("{} ({})", node.name, rate(node.bytes_per_second())))
            .collect();
        (!slow.is_empty()).then(|| {
            let measured = best.rounds_bytes_per_second.len();
            let (slow, usual) = (slow.join(", "), rate(usual));
            let from = basis(measured, report.rounds);
            format!("SLOW {direction}: {slow}; the median of the nodes is {usual}{from}")
        })
    });
    let named: Vec<_> = named.collect();
    (!named.is_empty()).then(|| named.join("\n"))
}

fn route(route: &Route) -> String {
    let unknown = || "unknown".to_owned();
    format!(
        "  {} at {}: from {} via {}, to its {}",
        route.node,
        route.address,
        route.local_address.clone().unwrap_or_else(unknown),
        route.link.as_ref().map_or_else(unknown, ToString::to_string),
        route.node_link.as_ref().map_or_else(unknown, ToString::to_string),
    )
}

fn round_trips(trips: &[RoundTrip]) -> TextTable {
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
    TextTable::new(titles, 1, trips.iter().map(row))
}

fn bandwidth(cells: &[Bandwidth]) -> TextTable {
    let row = |cell: &Bandwidth| {
        let Rate { bytes_per_second_to_nodes: to, bytes_per_second_from_nodes: from, .. } =
            cell.total;
        let shown = |unit: fn(f64) -> String| match cell.direction {
            Direction::ToNodes => unit(to),
            Direction::FromNodes => unit(from),
            Direction::Both => format!("{} + {}", unit(to), unit(from)),
        };
        [
            format!("{} {}", size(cell.message_bytes), cell.direction),
            shown(gigabytes),
            shown(gigabits),
            format!("{:.0}", cell.total.messages_per_second),
        ]
    };
    let titles = ["payload; both ways: to + from", "GB/s", "Gbit/s", "messages/s"];
    TextTable::new(titles, 1, cells.iter().map(row))
}

/// Returns a table of the rates of each node and of each stream, in the cell with the most bytes
/// per second to the nodes. `None` for a single stream.
fn by_node_and_stream(cells: &[Bandwidth]) -> Option<TextTable> {
    let cell = best(cells, Direction::ToNodes)?;
    if cell.streams.len() < 2 {
        return None;
    }
    let rates = |kind: &'static str, rates: &[Rate]| {
        let row = |rate: &Rate| {
            let bytes = rate.bytes_per_second_to_nodes;
            [kind.to_owned(), rate.name.clone(), gigabytes(bytes), gigabits(bytes)]
        };
        rates.iter().map(row).collect::<Vec<_>>()
    };
    let rows = [rates("node", &cell.nodes), rates("stream", &cell.streams)].concat();
    let title = format!("{} at {}", cell.direction, size(cell.message_bytes));
    Some(TextTable::new([&title, "", "GB/s", "Gbit/s"], 2, rows))
}

fn benchmarks(benchmarks: &[Benchmark]) -> TextTable {
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
    let titles = ["MLPerf, Appendix B", "bytes in", "bytes out", "carries /s", "target /s", ""];
    TextTable::new(titles, 1, benchmarks.iter().map(row))
}

/// Compares the best bandwidth with the speed that the interfaces report.
fn share_of_link(report: &Report) -> Option<String> {
    let speed = link_bytes_per_second(report)?;
    let best = |pick: fn(&Rate) -> f64| {
        report.bandwidth.iter().map(|cell| pick(&cell.total)).fold(0.0, f64::max)
    };
    let to = best(|rate| rate.bytes_per_second_to_nodes);
    let from = best(|rate| rate.bytes_per_second_from_nodes);
    Some(format!(
        "share of the interfaces' {}: {:.0} % to nodes, {:.0} % from nodes",
        rate(speed),
        100.0 * to / speed,
        100.0 * from / speed
    ))
}

/// Returns the speed that this machine's interfaces to the nodes report, all together.
pub(super) fn link_bytes_per_second(report: &Report) -> Option<f64> {
    let links = report.routes.iter().filter_map(|route| route.link.as_ref());
    let speeds: BTreeMap<_, _> =
        links.filter_map(|link| Some((&link.interface, link.speed_mbit_per_second?))).collect();
    (!speeds.is_empty()).then(|| speeds.values().sum::<u64>() as f64 * 1e6 / 8.0)
}
