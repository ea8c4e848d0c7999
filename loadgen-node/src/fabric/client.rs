//! Connections for one measurement: a QDL whose samples are probes and whose responses are
//! discarded.

use std::sync::Arc;

use netdiv_contract::{
    encoding::{Encoded, Encoding},
    probe,
};
use netdiv_qdl::{Expectation, LoadedSamples, NodeInfo, Settings};
use netdiv_receivers::{Probe, ProbeReceiver, ResponseSink};

use super::figures::Shape;
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
