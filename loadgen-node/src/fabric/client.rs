//! Connections for one measurement: a QDL whose samples are probes and whose responses are
//! discarded. Round trips of one message at a time use one directly.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_contract::{
    encoding::{Encoded, Encoding},
    probe,
};
use netdiv_qdl::{Expectation, LoadedSamples, NodeInfo, Settings};
use netdiv_receivers::{Probe, ProbeReceiver, ResponseSink};

use super::figures::{RoundTrip, Shape};
use crate::RunError;

/// Connects to the nodes. The only sample, of index 0, is a probe of this shape.
pub(super) fn connect(
    settings: Settings,
    shape: Shape,
    receiver: impl ProbeReceiver,
) -> Result<Probe, RunError> {
    let sample = probe::sample(shape.to_node, shape.from_node);
    let expected =
        Expectation { longest_payload_bytes: sample.len() as u64, ..Expectation::default() };
    let encoded =
        Encoded { bytes: sample, encoding: Encoding::None, decoded_bytes: 0, crc32c: None };
    let source = Arc::new(LoadedSamples::from([Some(encoded)]));
    Ok(Probe::connect(settings, &expected, Box::new(receiver), source)?)
}

/// Connects to the nodes and returns their descriptions. Fails if a node does not accept messages
/// of `longest` bytes, or runs an engine other than `none`.
pub(crate) fn nodes(settings: &Settings, longest: usize) -> Result<Vec<NodeInfo>, RunError> {
    let shape = Shape { to_node: longest, from_node: 0 };
    let qdl = connect(settings.clone(), shape, ResponseSink)?;
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

/// Maximum number of round trips, even if there is time for more.
const ENOUGH: u64 = 20_000;

/// Times round trips of one message at a time, to a node and back, for at most `duration`.
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
    let qdl = connect(alone, Shape { to_node: bytes, from_node: bytes }, ResponseSink)?;
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < duration && count < ENOUGH {
        qdl.issue(&[Instant::now()]).map_err(RunError::failed)?;
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
