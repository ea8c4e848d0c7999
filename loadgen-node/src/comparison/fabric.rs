//! Facts and figures of a network measurement (`loadgen-node fabric`) that are compared.

use std::{collections::BTreeMap, path::Path};

use super::subject::{MeasuredFigure, NetworkKind, Subject, SubjectKind};
use crate::{
    RunError,
    fabric::{figures::Bandwidth, report::Report},
    recording::histograms::Histograms,
    units::size,
};

pub(super) fn read(folder: &Path) -> Result<Subject, RunError> {
    let report = Report::read(folder)?;
    Ok(Subject {
        folder: folder.into(),
        kind: SubjectKind::Network(kind(&report)),
        facts: facts(&report),
        workload: BTreeMap::new(),
        remarks: Vec::new(),
        figures: figures(&report),
        histograms: Histograms::default(),
    })
}

fn kind(report: &Report) -> NetworkKind {
    match report {
        Report { matrix: Some(_), .. } => NetworkKind::Matrix,
        Report { soak: Some(_), .. } => NetworkKind::Soak,
        Report { open_loop, .. } if !open_loop.is_empty() => NetworkKind::Rate,
        _ => NetworkKind::Sizes,
    }
}

fn facts(report: &Report) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = [
        ("version of loadgen-node", report.version.clone()),
        ("transport", report.transport.to_string()),
        ("TLS", report.tls.to_string()),
        ("connections to each node", report.connections_per_node.to_string()),
        ("streams on each connection", report.streams_per_connection.to_string()),
        ("I/O threads", report.io_threads.to_string()),
        ("warm-up, ms", report.warm_up_ms.to_string()),
        ("length of a measurement, ms", report.duration_ms.to_string()),
        ("rounds", report.rounds.to_string()),
        ("nodes", report.routes.len().to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    facts.extend(report.way_out().map(|(what, value)| (what.into(), value)));
    facts.extend(report.host.clone().map(|host| ("host".into(), host)));
    for route in &report.routes {
        let node = &route.node;
        facts.insert(format!("host of node {node}"), route.node_host.clone());
        facts.insert(format!("version of node {node}"), route.node_version.clone());
        for (what, link) in [("link to node", &route.link), ("link of node", &route.node_link)] {
            facts.extend(link.as_ref().map(|link| (format!("{what} {node}"), link.to_string())));
        }
    }
    facts
}

fn figures(report: &Report) -> Vec<MeasuredFigure> {
    let ns = |name: String, ns: u64| MeasuredFigure::new(name, "ns", vec![ns as f64]);
    let mut figures = Vec::new();
    for trip in &report.round_trips {
        let name = format!("round trip, {} to {}", size(trip.message_bytes), trip.node);
        figures.push(ns(format!("{name}, p50"), trip.p50_ns));
        figures.push(ns(format!("{name}, p99"), trip.p99_ns));
    }
    report.bandwidth.iter().for_each(|cell| figures.extend(of_cell(cell, "")));
    if let Some(cell) = &report.soak {
        figures.extend(of_cell(cell, "soak, "));
        figures.extend(cell.p99_9_ns.map(|p99_9| ns("soak, p99.9".into(), p99_9)));
        figures.push(ns("soak, longest gap".into(), cell.longest_gap_ms * 1_000_000));
    }
    if let Some(matrix) = &report.matrix {
        for cell in [&matrix.fan_out, &matrix.incast].into_iter().flatten() {
            figures.extend(of_cell(cell, "all nodes at once, "));
        }
        for pair in matrix.pairs.iter().filter(|pair| !pair.rounds_bytes_per_second.is_empty()) {
            let name = format!("{}, {} to {}", size(matrix.message_bytes), pair.from, pair.to);
            let rates = pair.rounds_bytes_per_second.iter().map(|bytes| bytes / 1e9).collect();
            figures.push(MeasuredFigure::new(name, "GB/s", rates));
        }
    }
    for run in &report.open_loop {
        let what = run.benchmark.clone().unwrap_or_else(|| size(run.message_bytes));
        let name = format!("{what} at {}/s", run.rate_messages_per_second);
        let kept = f64::from(u8::from(run.kept));
        figures.push(MeasuredFigure::exact(format!("{name}, rate kept"), "", kept));
        for (percentile, time) in
            [("p50", run.p50_ns), ("p99", run.p99_ns), ("p99.9", run.p99_9_ns)]
        {
            figures.push(ns(format!("{name}, {percentile}"), time));
        }
    }
    figures
}

fn of_cell(cell: &Bandwidth, what: &str) -> Vec<MeasuredFigure> {
    let name = format!("{what}{} {}", size(cell.message_bytes), cell.direction);
    let rates = cell.rounds_bytes_per_second.iter().map(|bytes| bytes / 1e9).collect();
    let spent = cell.processor_seconds_per_byte;
    let spent = spent.map(|seconds| {
        MeasuredFigure::new(format!("{name}, processor time"), "ns/B", vec![seconds * 1e9])
    });
    [MeasuredFigure::new(name, "GB/s", rates)].into_iter().chain(spent).collect()
}
