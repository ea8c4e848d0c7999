//! Fields of a measurements file that the record of the performance run determines.

use serde_json::{Value, json};

use crate::record::RunResult;

/// Returns these fields, each as its name and its value.
pub fn recorded(record: &RunResult) -> [(&'static str, Value); 8] {
    let nodes = record.nodes.iter().map(|node| {
        json!({
            "name": node.name,
            "engine": node.engine,
            "model": node.model,
            "model_sha256": node.model_sha256,
            "config_sha256": node.config_sha256,
            "software_version": node.software_version,
        })
    });
    [
        ("nodes", nodes.collect()),
        ("input", json!(record.input)),
        ("encoding", json!(record.encoding)),
        ("transport", json!(record.transport)),
        ("tls", json!(record.tls)),
        ("connections_per_node", json!(record.connections_per_node)),
        ("streams_per_connection", json!(record.streams_per_connection)),
        ("versions", json!(record.versions)),
    ]
}
