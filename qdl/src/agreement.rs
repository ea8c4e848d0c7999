//! Requirements on the nodes of a run: each node accepts the run's samples, all nodes serve the
//! same model, and no node is replaced before the end of the run.

use std::collections::HashMap;

use netdiv_contract::{
    encoding::Encoding,
    layout::{self, InputLayout},
    v1::DescribeResponse,
};

use crate::{connect_error::ConnectError, node::NodeInfo};

/// Properties of the run's samples, which every node must accept.
#[derive(Debug, Clone, Default)]
pub struct Expectation {
    /// Tensors of a sample; `None` if the samples are bytes of unknown meaning.
    pub input: Option<InputLayout>,
    /// Encoding of the samples.
    pub encoding: Encoding,
    /// Length of the longest payload, encoded or decoded, in bytes.
    pub longest_payload_bytes: u64,
}

/// Checks that all nodes accept the run's samples, have different names and serve the same model.
pub(crate) fn agree(nodes: &[NodeInfo], expected: &Expectation) -> Result<(), ConnectError> {
    let mut addresses: HashMap<&str, &str> = HashMap::new();
    for node in nodes {
        if let Some(first) = addresses.insert(&node.description.node_name, &node.address) {
            return Err(ConnectError::DuplicateName {
                name: node.description.node_name.clone(),
                first: first.into(),
                second: node.address.clone(),
            });
        }
        check_requirements(node, expected)?;
    }
    let model = |n: &NodeInfo| {
        let d = &n.description;
        (d.model_name.clone(), d.model_sha256.clone(), d.input.clone())
    };
    match nodes.iter().find(|node| model(node) != model(&nodes[0])) {
        None => Ok(()),
        Some(other) => Err(ConnectError::DifferentModel {
            first: nodes[0].description.node_name.clone(),
            theirs: model_in_words(&nodes[0].description),
            second: other.description.node_name.clone(),
            ours: model_in_words(&other.description),
        }),
    }
}

fn model_in_words(description: &DescribeResponse) -> String {
    let hash: String = description.model_sha256.chars().take(12).collect();
    let input = layout::describe(&description.input.clone().unwrap_or_default());
    format!("{} (SHA-256 {}…, {input})", description.model_name, hash)
}

fn check_requirements(node: &NodeInfo, expected: &Expectation) -> Result<(), ConnectError> {
    let name = || node.description.node_name.clone();
    let takes = node.description.input.clone().unwrap_or_default();
    if let Some(holds) = &expected.input
        && !layout::accepts(&takes, holds)
    {
        return Err(ConnectError::OtherLayout {
            node: name(),
            want: layout::describe(&takes),
            have: layout::describe(holds),
        });
    }
    if !node.description.encodings.contains(&(expected.encoding as i32)) {
        let accepted = node.description.encodings().map(Encoding::word).collect::<Vec<_>>();
        return Err(ConnectError::EncodingRefused {
            node: name(),
            encoding: expected.encoding.word(),
            accepted: accepted.join(", "),
        });
    }
    let limit = node.description.max_payload_bytes;
    if expected.longest_payload_bytes > limit {
        let bytes = expected.longest_payload_bytes;
        return Err(ConnectError::SampleTooLong { node: name(), bytes, limit });
    }
    Ok(())
}

/// Returns the name of a fact in which the descriptions of two nodes differ, such as `model`;
/// `None` if both describe the same node.
pub(crate) fn difference(one: &DescribeResponse, other: &DescribeResponse) -> Option<&'static str> {
    if one.node_name == other.node_name { changed(one, other) } else { Some("name") }
}

/// Returns the name of a fact in which a node's current description differs from its earlier one,
/// such as `model`, so that it is no longer the same node; `None` if it still is.
pub(crate) fn changed(before: &DescribeResponse, now: &DescribeResponse) -> Option<&'static str> {
    let facts = |d: &DescribeResponse| {
        let model = (d.model_name.clone(), d.model_sha256.clone(), d.input.clone());
        let machine = (d.machine_id.clone(), d.host_name.clone());
        let program = (d.software_version.clone(), d.engine.clone());
        (model, d.config_sha256.clone(), program, machine)
    };
    let (before, now) = (facts(before), facts(now));
    if before.0 != now.0 {
        Some("model")
    } else if before.1 != now.1 {
        Some("digest of its settings")
    } else if before.2 != now.2 {
        Some("program")
    } else if before.3 != now.3 {
        Some("machine")
    } else {
        None
    }
}
