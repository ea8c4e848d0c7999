//! Connections for one measurement: a QDL whose samples are probes and whose responses are
//! discarded.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use netdiv_contract::{
    encoding::{Encoded, Encoding},
    probe,
};
use netdiv_qdl::{
    Expectation, Failure, LoadGen, LoadedSamples, NodeInfo, Qdl, SampleSource, Settings,
};
use parking_lot::Mutex;

use super::figures::Shape;
use crate::RunError;

/// Discards responses; the QDL counts them.
pub(super) struct ResponseSink;

impl LoadGen for ResponseSink {
    type Ticket = ();

    fn first_token(&self, (): &mut (), _: &Bytes) {}

    fn complete(&self, tickets: &mut Vec<()>, _: &[Bytes]) {
        tickets.clear();
    }
}

/// Records the time of each response, from when its message was due.
#[derive(Clone)]
pub(super) struct LatencyRecorder(pub(super) Arc<Mutex<Histogram<u64>>>);

impl LoadGen for LatencyRecorder {
    type Ticket = Instant;

    fn first_token(&self, _: &mut Instant, _: &Bytes) {}

    fn complete(&self, due: &mut Vec<Instant>, _: &[Bytes]) {
        let now = Instant::now();
        let mut times = self.0.lock();
        for due in due.drain(..) {
            let ns = now.saturating_duration_since(due).as_nanos();
            times.saturating_record(u64::try_from(ns).unwrap_or(u64::MAX));
        }
    }
}

struct OneSample(LoadedSamples);

impl SampleSource for OneSample {
    fn loaded(&self) -> LoadedSamples {
        self.0.clone()
    }
}

/// Connects to the nodes. The only sample, of index 0, is a probe of this shape.
pub(super) fn connect<L: LoadGen>(
    settings: Settings,
    shape: Shape,
    loadgen: L,
) -> Result<Qdl<L>, RunError> {
    let sample = probe::sample(shape.to_node, shape.from_node);
    let expected =
        Expectation { longest_payload_bytes: sample.len() as u64, ..Expectation::default() };
    let encoded =
        Encoded { bytes: sample, encoding: Encoding::None, decoded_bytes: 0, crc32c: None };
    let source = OneSample(Arc::new([Some(encoded)]));
    Ok(Qdl::connect(settings, &expected, loadgen, Arc::new(source))?)
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

pub(super) fn failed(failure: Failure) -> RunError {
    RunError::Failed(failure.to_string())
}
