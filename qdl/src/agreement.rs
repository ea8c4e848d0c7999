//! Requirements on the nodes of a run: each node accepts the run's samples, all nodes serve the
//! same model, and no node is replaced before the end of the run.

use std::collections::HashMap;

use netdiv_contract::{
    encoding::Encoding,
    layout::{self, InputLayout},
    v1::DescribeResponse,
};

use crate::{connect_error::ConnectError, node::NodeInfo, settings::Settings};

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
            let (name, second) = (&node.description.node_name, &node.address);
            return Err(ConnectError::Unfit(format!(
                "{first} and {second} are both called `{name}`; give each node its own --name"
            )));
        }
        check_requirements(node, expected)?;
    }
    let model = |n: &NodeInfo| {
        let d = &n.description;
        (d.model_name.clone(), d.model_sha256.clone(), d.input.clone())
    };
    match nodes.iter().find(|node| model(node) != model(&nodes[0])) {
        None => Ok(()),
        Some(other) => {
            let (first, second) = (&nodes[0].description, &other.description);
            Err(ConnectError::Unfit(format!(
                "the nodes do not serve the same model: {} has {}, {} has {}; start them with the same model file",
                first.node_name,
                model_in_words(first),
                second.node_name,
                model_in_words(second)
            )))
        }
    }
}

fn model_in_words(description: &DescribeResponse) -> String {
    let hash: String = description.model_sha256.chars().take(12).collect();
    let input = layout::describe(&description.input.clone().unwrap_or_default());
    format!("{} (SHA-256 {}…, {input})", description.model_name, hash)
}

fn check_requirements(node: &NodeInfo, expected: &Expectation) -> Result<(), ConnectError> {
    let name = &node.description.node_name;
    let takes = node.description.input.clone().unwrap_or_default();
    if let Some(holds) = &expected.input
        && !layout::accepts(&takes, holds)
    {
        let (want, have) = (layout::describe(&takes), layout::describe(holds));
        return Err(ConnectError::Unfit(format!(
            "node {name} takes {want}, the data set holds {have}; choose the data set of its model"
        )));
    }
    if !node.description.encodings.contains(&(expected.encoding as i32)) {
        let accepted = node.description.encodings().map(Encoding::word).collect::<Vec<_>>();
        return Err(ConnectError::Unfit(format!(
            "node {name} does not decode {}; it accepts {}",
            expected.encoding,
            accepted.join(", ")
        )));
    }
    let limit = node.description.max_payload_bytes;
    if expected.longest_payload_bytes > limit {
        let bytes = expected.longest_payload_bytes;
        return Err(ConnectError::Unfit(format!(
            "the longest sample has {bytes} bytes, but node {name} accepts at most {limit}; raise --max-payload-bytes there"
        )));
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

/// Checks that a node accepts as many connections and streams as a run uses, by the limits in its
/// description. A node of an older contract reports no limits.
pub(crate) fn check_capacity(
    settings: &Settings,
    takes: &DescribeResponse,
) -> Result<(), ConnectError> {
    let connections = settings.connections_per_node.max(1);
    let streams = settings.streams_per_connection.max(1);
    let all = settings.lanes_per_node();
    for (asked, limit, asks, remedy) in [
        (
            connections,
            takes.max_connections,
            format!("--connections asks for {connections} connections to each node"),
            "ask for fewer, or raise --max-connections there",
        ),
        (
            streams,
            takes.max_streams_per_connection,
            format!("--streams asks for {streams} streams on each connection"),
            "ask for fewer, or for more --connections",
        ),
        (
            all,
            takes.max_streams,
            format!("--connections and --streams ask for {all} streams to each node"),
            "ask for fewer",
        ),
    ] {
        if limit > 0 && asked as u64 > u64::from(limit) {
            let node = &takes.node_name;
            let why = format!("{asks}, but node {node} accepts {limit}; {remedy}");
            return Err(ConnectError::Unfit(why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_refused_with_both_numbers() {
        let node = DescribeResponse {
            node_name: "a".into(),
            max_connections: 8,
            max_streams: 100,
            max_streams_per_connection: 64,
            ..DescribeResponse::default()
        };
        let older = DescribeResponse { node_name: "a".into(), ..DescribeResponse::default() };
        for (connections_per_node, streams_per_connection, words) in [
            (1, 64, None),
            (8, 12, None),
            (9, 1, Some("asks for 9 connections to each node, but node a accepts 8")),
            (1, 65, Some("asks for 65 streams on each connection, but node a accepts 64")),
            (2, 51, Some("ask for 102 streams to each node, but node a accepts 100")),
        ] {
            let settings = Settings {
                connections_per_node,
                streams_per_connection,
                ..Settings::new(vec!["a:1".into()])
            };
            let refused = check_capacity(&settings, &node).err().map(|error| error.to_string());
            let has_words = |words| refused.as_ref().is_some_and(|error| error.contains(words));
            assert!(words.map_or(refused.is_none(), has_words), "{refused:?}");
            assert!(check_capacity(&settings, &older).is_ok(), "its limits are unknown");
        }
    }
}
