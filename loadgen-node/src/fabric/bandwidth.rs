//! Payload bandwidth: messages of one shape, as many as the windows allow.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use netdiv_qdl::{NodeReport, Policy, Settings};
use netdiv_receivers::{Probe, ResponseSink};

use super::{
    client::{connect, failed},
    figures::{Bandwidth, Direction, FarEnd, Interval, Rate, Shape},
    watch::{Times, Window, watch},
};
use crate::RunError;

/// Minimum and maximum number of bytes in flight to and from each node. The minimum suits any
/// network; the maximum suffices for 100 Gb/s and 20 ms.
const IN_FLIGHT_BYTES: std::ops::RangeInclusive<f64> = 256e3..=256e6;

/// Minimum and maximum number of messages in flight to each node.
const IN_FLIGHT: std::ops::RangeInclusive<usize> = 2..=4096;

/// Number of messages issued at once.
const BURST: usize = 256;

/// Sends as many messages as the windows allow, to all nodes at once, and passes each interval to
/// `tell`. Messages in flight when the time is up still have to arrive. They are therefore limited
/// to half of what the slowest node moves in the time, at the rate `slowest_bytes_per_second` of an
/// earlier measurement.
pub(crate) fn bandwidth(
    settings: &Settings,
    bytes: usize,
    direction: Direction,
    times: Times,
    slowest_bytes_per_second: f64,
    tell: impl Fn(&Interval) + Send,
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
    let far_before = qdl.processor_times().map_err(failed)?;
    let burst = vec![Instant::now(); BURST.min(in_flight)];
    let window = drive(&qdl, shape, times, tell, || qdl.issue(&burst))?;
    qdl.flush().map_err(failed)?;
    let far_after = qdl.processor_times().map_err(failed)?;
    let far = far_ends(&qdl.report(), shape, &far_before, &far_after);
    Ok(figures(bytes, direction, shape, &window, far))
}

/// Calls `send` again and again until the window is over. Passes each interval to `tell`, and
/// returns the window.
pub(super) fn drive(
    qdl: &Probe,
    shape: Shape,
    times: Times,
    tell: impl Fn(&Interval) + Send,
    mut send: impl FnMut() -> Result<(), netdiv_qdl::Failure>,
) -> Result<Window, RunError> {
    thread::scope(|scope| {
        let (stop, stopped) = mpsc::channel();
        let sample_bytes = shape.sample_bytes();
        let watcher = thread::Builder::new()
            .name("watcher".into())
            .spawn_scoped(scope, move || watch(qdl, times, sample_bytes, &stopped, tell))
            .map_err(|error| RunError::Failed(format!("cannot start a thread: {error}")))?;
        while !watcher.is_finished() {
            send().map_err(failed)?;
        }
        drop(stop);
        let lost = || RunError::Failed("the thread that reads the counters failed".into());
        watcher.join().unwrap_or_else(|_| Err(lost()))
    })
}

/// Returns the counts of each node over the whole measurement, including its warm-up. `before` and
/// `after` are the processor times of the nodes.
fn far_ends(
    reports: &[NodeReport],
    shape: Shape,
    before: &[Duration],
    after: &[Duration],
) -> Vec<FarEnd> {
    let of = |(node, report): (usize, &NodeReport)| {
        let bytes =
            report.acknowledged as f64 * shape.sample_bytes() as f64 + report.bytes_received as f64;
        let spent = before.get(node).zip(after.get(node)).filter(|(_, after)| !after.is_zero());
        let spent = spent.map(|(before, after)| after.saturating_sub(*before).as_secs_f64());
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
    let lanes = begin.lanes.iter().zip(&end.lanes);
    let streams: Vec<_> = lanes
        .map(|(begin, end)| {
            let messages = (end.answered - begin.answered) as f64 / seconds;
            let received = (end.bytes_received - begin.bytes_received) as f64;
            Rate {
                name: end.name.clone(),
                address: end.address.clone(),
                messages_per_second: messages,
                bytes_per_second_to_nodes: messages * shape.sample_bytes() as f64,
                bytes_per_second_from_nodes: received / seconds,
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
    let spent = end.counters.processor_seconds(&begin.counters);
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
        path: end.counters.path(&begin.counters),
        host_tcp_retransmits: end.counters.retransmits(&begin.counters),
        far_ends,
        total,
        nodes,
        streams,
    }
}
