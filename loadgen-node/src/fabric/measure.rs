//! Taking the figures. Each has connections of its own, so that none starts in the wake of another.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_contract::{
    encoding::{Encoded, Encoding},
    probe,
};
use netdiv_qdl::{
    Expectation, Failure, LoadGen, LoadedSamples, NodeInfo, NodeReport, Policy, Qdl, SampleSource,
    Settings,
};

use super::figures::{Bandwidth, Direction, Rate, RoundTrip};
use crate::RunError;

/// Bytes in flight to each node and from it: as many as any network takes, and enough for 100 Gb/s and 20 ms.
const IN_FLIGHT_BYTES: std::ops::RangeInclusive<f64> = 256e3..=256e6;

/// Messages in flight to each node, at least and at most.
const IN_FLIGHT: std::ops::RangeInclusive<usize> = 2..=4096;

/// Messages handed over at once.
const BURST: usize = 256;

/// Round trips that are enough, however long there is time.
const ENOUGH_ROUND_TRIPS: u64 = 20_000;

/// A sample for messages of that size.
fn sample(direction: Direction, bytes: usize) -> Bytes {
    match direction {
        Direction::ToNodes => probe::sample(bytes, 0),
        Direction::FromNodes => probe::sample(0, bytes),
        Direction::Both => probe::sample(bytes, bytes),
    }
}

/// Takes answers and forgets them: the QDL counts.
struct Nobody;

impl LoadGen for Nobody {
    type Ticket = ();

    fn first_token(&self, (): &mut (), _: &Bytes) {}

    fn complete(&self, tickets: &mut Vec<()>, _: &[Bytes]) {
        tickets.clear();
    }
}

struct OneSample(LoadedSamples);

impl SampleSource for OneSample {
    fn loaded(&self) -> LoadedSamples {
        self.0.clone()
    }
}

fn connect(settings: Settings, sample: Bytes) -> Result<Qdl<Nobody>, RunError> {
    let expected =
        Expectation { longest_payload_bytes: sample.len() as u64, ..Expectation::default() };
    let encoded =
        Encoded { bytes: sample, encoding: Encoding::None, decoded_bytes: 0, crc32c: None };
    let source = OneSample(Arc::new([Some(encoded)]));
    Ok(Qdl::connect(settings, &expected, Nobody, Arc::new(source))?)
}

/// The nodes, once all are known to answer messages of these sizes.
pub(crate) fn nodes(settings: &Settings, sizes: &[usize]) -> Result<Vec<NodeInfo>, RunError> {
    let longest = sizes.iter().copied().max().unwrap_or_default();
    let qdl = connect(settings.clone(), probe::sample(longest, 0))?;
    for node in qdl.nodes() {
        let d = &node.description;
        if d.engine != "none" {
            return Err(RunError::Usage(format!(
                "node {} runs the engine {}; for this test start it with --engine none",
                d.node_name, d.engine
            )));
        }
    }
    Ok(qdl.nodes().to_vec())
}

/// Times one message at a time, which goes to the node and comes back.
pub(crate) fn round_trip(
    settings: &Settings,
    address: &str,
    bytes: usize,
    duration: Duration,
) -> Result<RoundTrip, RunError> {
    let alone = Settings {
        nodes: vec![address.to_owned()],
        connections_per_node: 1,
        streams_per_connection: 1,
        one_query_at_a_time: true,
        ..settings.clone()
    };
    let qdl = connect(alone, sample(Direction::Both, bytes))?;
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < duration && count < ENOUGH_ROUND_TRIPS {
        qdl.issue(std::iter::once(((), 0))).map_err(failed)?;
        count += 1;
    }
    let report = qdl.report().remove(0);
    let latency = &report.latency;
    let histogram = latency.iter_log(1000, 2.0);
    Ok(RoundTrip {
        node: report.name,
        message_bytes: bytes,
        count,
        p50_ns: latency.value_at_quantile(0.5),
        p90_ns: latency.value_at_quantile(0.9),
        p99_ns: latency.value_at_quantile(0.99),
        p99_9_ns: latency.value_at_quantile(0.999),
        max_ns: latency.max(),
        histogram_ns: histogram
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
            .collect(),
    })
}

/// Sends as much as the windows take, to all nodes at once. What is in flight when the time is up still has to arrive:
/// it is no more than half of what an earlier figure says that the time is enough for.
pub(crate) fn bandwidth(
    settings: &Settings,
    bytes: usize,
    direction: Direction,
    duration: Duration,
    bytes_per_second: f64,
) -> Result<Bandwidth, RunError> {
    let half = bytes_per_second * duration.as_secs_f64() / 2.0 / settings.nodes.len() as f64;
    let in_flight = half.clamp(*IN_FLIGHT_BYTES.start(), *IN_FLIGHT_BYTES.end()) / bytes as f64;
    let in_flight = (in_flight as usize).clamp(*IN_FLIGHT.start(), *IN_FLIGHT.end());
    let streams = settings.connections_per_node * settings.streams_per_connection;
    let settings = Settings {
        policy: Policy::Pull,
        // Each stream has its share, and at least one.
        window_samples: Some(in_flight.max(streams)),
        // What waits here is sent after the time is up.
        inbox_samples: in_flight.min(BURST),
        ..settings.clone()
    };
    let qdl = connect(settings, sample(direction, bytes))?;
    let start = Instant::now();
    while start.elapsed() < duration {
        let burst = BURST.min(in_flight);
        qdl.issue((0..burst).map(|_| ((), 0))).map_err(failed)?;
    }
    qdl.flush().map_err(failed)?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = |report: &NodeReport| Rate {
        name: report.name.clone(),
        messages_per_second: report.answered as f64 / seconds,
        bytes_per_second_to_nodes: report.bytes_sent as f64 / seconds,
        bytes_per_second_from_nodes: report.bytes_received as f64 / seconds,
    };
    let nodes: Vec<_> = qdl.report().iter().map(rate).collect();
    let sum = |pick: fn(&Rate) -> f64| nodes.iter().map(pick).sum();
    Ok(Bandwidth {
        message_bytes: bytes,
        direction,
        seconds,
        total: Rate {
            name: "all".into(),
            messages_per_second: sum(|rate| rate.messages_per_second),
            bytes_per_second_to_nodes: sum(|rate| rate.bytes_per_second_to_nodes),
            bytes_per_second_from_nodes: sum(|rate| rate.bytes_per_second_from_nodes),
        },
        nodes,
        streams: qdl.report_by_lane().iter().map(rate).collect(),
    })
}

fn failed(failure: Failure) -> RunError {
    RunError::Failed(failure.to_string())
}
