//! `node-classification`: a sample is the number of a node in the graph that the model holds. The
//! response is the class of this node, an int32 (R-GAT). The model itself finds and loads the
//! neighbours.

use std::sync::Arc;

use netdiv_contract::layout::{DataType, InputLayout};
use rayon::ThreadPool;
use serde::Deserialize;

use crate::model::{
    manifest::Manifest,
    payload::Payload,
    workload::{Job, Workload, integers},
    workloads::{
        classification::label,
        parameters,
        tensors::{Stack, wire_layout},
    },
};

#[derive(Debug)]
pub(super) struct NodeClassification {
    manifest: Arc<Manifest>,
    layout: InputLayout,
    threads: Arc<ThreadPool>,
    nodes: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeClassificationParameters {
    /// Number of nodes in the graph. A higher node number would be read from memory beyond the
    /// graph.
    nodes: i64,
}

impl NodeClassification {
    pub(super) fn new(manifest: &Arc<Manifest>, threads: &Arc<ThreadPool>) -> Result<Self, String> {
        let NodeClassificationParameters { nodes } = parameters::read(manifest)?;
        if nodes < 1 {
            return Err("[parameters]: nodes must be at least 1".into());
        }
        let [input] = parameters::exactly("input", &manifest.inputs)?;
        parameters::expect(input, &[DataType::Int32, DataType::Int64], 1)?;
        if parameters::fixed(input)? != [1] {
            return Err(format!("{} must have the shape [1], one number for a sample", input.name));
        }
        let [output] = parameters::exactly("output", &manifest.outputs)?;
        parameters::expect(output, &[DataType::Float32], 1)?;
        parameters::fixed(output)?;
        let (layout, threads) = (wire_layout(manifest), threads.clone());
        Ok(Self { manifest: manifest.clone(), layout, threads, nodes })
    }

    /// Fails if the node of a sample is outside of the graph.
    fn check(&self, payload: &Payload) -> Result<(), String> {
        match integers(&payload.tensors()[0]).find(|n| !(0..self.nodes).contains(n)) {
            Some(n) => Err(format!("node {n}; the graph has nodes 0 to {}", self.nodes - 1)),
            None => Ok(()),
        }
    }
}

impl Workload for NodeClassification {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        let check = |payload: &Payload| self.check(payload);
        Stack::job(&self.manifest, &self.threads, batch, check, label)
    }
}
