//! Payload bandwidth: messages of one shape, as many as the windows allow.

use std::{iter, sync::mpsc, thread, time::Instant};

use netdiv_node_common::resources::processor::ProcessorTimes;
use netdiv_qdl::{NodeReport, Policy, Settings};
use netdiv_receivers::{Probe, ResponseSink};

use super::{
    client::connect,
    figures::{Bandwidth, Direction, FarEnd, Rate, Shape},
    path::Path,
    watch::{Times, Window, watch},
};
use crate::{RunError, node_times, record::Shortage};

/// Minimum and maximum number of bytes in flight to and from each node. The minimum suits any
/// network; the maximum suffices for 100 Gb/s and 20 ms.
const IN_FLIGHT_BYTES: std::ops::RangeInclusive<f64> = 256e3..=256e6;

/// Minimum and maximum number of messages in flight to each node.
const IN_FLIGHT: std::ops::RangeInclusive<usize> = 2..=4096;

/// Number of messages issued at once.
const BURST: usize = 256;

/// Sends as many messages as the windows allow, to all nodes at once. Messages in flight when the
/// time is up still have to arrive. They are therefore limited to half of what the slowest node
/// moves in the time, at the rate `slowest_bytes_per_second` of an earlier measurement.
pub(crate) fn bandwidth(
    settings: &Settings,
    bytes: usize,
    direction: Direction,
    times: Times,
    slowest_bytes_per_second: f64,
) -> Result<Bandwidth, RunError> {
    let half = slowest_bytes_per_second * times.duration.as_secs_f64() / 2.0;
    let in_flight = half.clamp(*IN_FLIGHT_BYTES.start(), *IN_FLIGHT_BYTES.end()) / bytes as f64;
    let in_flight = (in_flight as usize).clamp(*IN_FLIGHT.start(), *IN_FLIGHT.end());
    let streams = settings.connections_per_node * settings.streams_per_connection;
    let settings = Settings {
        policy: Policy::Pull,
        // Each stream has a share of the window: at least one message.
        window_samples: Some(in_flight.max(streams)),
        // Messages that wait in the inbox are sent even after the time is up.
        inbox_samples: in_flight.min(BURST),
        ..settings.clone()
    };
    let shape = Shape::of(direction, bytes);
    let qdl = connect(settings, shape, ResponseSink)?;
    let far_before = qdl.descriptions().map_err(RunError::failed)?;
    let (began, own_before) = (Instant::now(), ProcessorTimes::now());
    let burst = vec![Instant::now(); BURST.min(in_flight)];
    let window = drive(&qdl, shape, times, || qdl.issue(&burst))?;
    qdl.flush().map_err(RunError::failed)?;
    let own = ProcessorTimes::now().since(&own_before);
    let far_after = qdl.descriptions().map_err(RunError::failed)?;
    let spent: Vec<_> = far_before
        .iter()
        .zip(&far_after)
        .map(|((_, a), (_, b))| node_times::between(a, b))
        .collect();
    let names = qdl.nodes().iter().map(|node| format!("node {}", node.description.node_name));
    let programs = iter::once(("this machine".into(), &own)).chain(names.zip(&spent));
    let took = began.elapsed();
    let shortages = programs.filter_map(|(name, spent)| Shortage::of(name, spent, took)).collect();
    let far = far_ends(&qdl.report(), shape, &spent);
    Ok(Bandwidth { shortages, ..figures(bytes, direction, shape, &window, far) })
}

/// Calls `send` again and again until the window is over, and returns the window.
fn drive(
    qdl: &Probe,
    shape: Shape,
    times: Times,
    mut send: impl FnMut() -> Result<(), netdiv_qdl::Failure>,
) -> Result<Window, RunError> {
    thread::scope(|scope| {
        let (stop, stopped) = mpsc::channel();
        let sample_bytes = shape.sample_bytes();
        let watcher = thread::Builder::new()
            .name("watcher".into())
            .spawn_scoped(scope, move || watch(qdl, times, sample_bytes, &stopped))
            .map_err(|error| RunError::Failed(format!("cannot start a thread: {error}")))?;
        while !watcher.is_finished() {
            send().map_err(RunError::failed)?;
        }
        drop(stop);
        let lost = || RunError::Failed("the thread that reads the counters failed".into());
        watcher.join().unwrap_or_else(|_| Err(lost()))
    })
}

/// Returns the counts of each node over the whole measurement, including its warm-up. `spent` has
/// the processor times of the nodes.
fn far_ends(reports: &[NodeReport], shape: Shape, spent: &[ProcessorTimes]) -> Vec<FarEnd> {
    let of = |(node, report): (usize, &NodeReport)| {
        let bytes =
            report.acknowledged as f64 * shape.sample_bytes() as f64 + report.bytes_received as f64;
        let spent = spent.get(node).map(|spent| spent.ran).filter(|ran| !ran.is_zero());
        let spent = spent.map(|ran| ran.as_secs_f64());
        FarEnd {
            node: report.name.clone(),
            messages_sent: report.sent,
            messages_received: report.acknowledged,
            processor_seconds_per_byte: spent.filter(|_| bytes > 0.0).map(|spent| spent / bytes),
        }
    };
    reports.iter().enumerate().map(of).collect()
}

fn figures(
    bytes: usize,
    direction: Direction,
    shape: Shape,
    window: &Window,
    far_ends: Vec<FarEnd>,
) -> Bandwidth {
    let Window { begin, end, intervals, longest_gap } = window;
    let seconds = end.seconds_since(begin);
    let moved = begin.moved.iter().zip(&end.moved);
    let streams: Vec<_> = moved
        .zip(&end.lanes)
        .map(|((begin, end), lane)| {
            let messages = (end.messages - begin.messages) / seconds;
            Rate {
                name: lane.name.clone(),
                address: lane.address.clone(),
                messages_per_second: messages,
                bytes_per_second_to_nodes: messages * shape.sample_bytes() as f64,
                bytes_per_second_from_nodes: (end.bytes_received - begin.bytes_received) / seconds,
                rounds_bytes_per_second: Vec::new(),
            }
        })
        .collect();
    let mut nodes: Vec<Rate> = Vec::new();
    for stream in &streams {
        match nodes.iter_mut().find(|node| node.address == stream.address) {
            Some(node) => node.add(stream),
            None => nodes.push(stream.clone()),
        }
    }
    let mut total = Rate::default();
    streams.iter().for_each(|stream| total.add(stream));
    let moved = total.bytes_per_second() * seconds;
    let spent = end.counters.processor.saturating_sub(begin.counters.processor).as_secs_f64();
    let latency = end.latency(begin);
    let quantile = |share| latency.as_ref().map(|latency| latency.value_at_quantile(share));
    Bandwidth {
        message_bytes: bytes,
        direction,
        seconds,
        rounds_bytes_per_second: vec![total.bytes_per_second()],
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        p99_9_ns: quantile(0.999),
        longest_gap_ms: longest_gap.as_millis() as u64,
        intervals: intervals.clone(),
        processor_seconds_per_byte: (moved > 0.0).then(|| spent / moved),
        busiest_io_thread: end.counters.busiest_io_thread(&begin.counters, seconds),
        path: Path::between(&begin.counters.connections, &end.counters.connections),
        host_tcp_retransmits: end.counters.retransmits(&begin.counters),
        far_ends,
        shortages: Vec::new(),
        total,
        nodes,
        streams,
    }
}
