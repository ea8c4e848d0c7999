//! Choices of a run: its options, data set, LoadGen and nodes, known before it starts.

use std::{collections::BTreeMap, fmt};

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    book::BuiltLoadGen,
    facts::node_software::{NodeDescription, NodeSoftware},
    record::{Evidence, Prepared},
};

/// Name of the setting with which LoadGen 6.0.6 and later issues fewer samples in an accuracy run.
pub const ACCURACY_COUNT: &str = "accuracy_sample_count_override";

/// Choices of a run, which [`super::before_run`] judges before the run starts.
#[derive(Debug, Clone, Copy)]
pub struct RunChoices<'a> {
    /// Name of the benchmark (`--benchmark`).
    pub benchmark: &'a str,
    /// Scenario of the run (`--scenario`).
    pub scenario: Scenario,
    /// Mode of the run (`--mode`).
    pub mode: Mode,
    /// Encoding of the samples (`--encoding`).
    pub encoding: Encoding,
    /// Tensors of a decoded sample. Empty if the sample is bytes of unknown meaning, and `None` if
    /// its contents are unknown.
    pub input: Option<&'a [Tensor<'a>]>,
    /// Number of samples in the data set.
    pub dataset_samples: u64,
    /// Manifests of the data set's parts.
    pub prepared: &'a [Prepared],
    /// Number of samples that the QSL reports for performance mode. LoadGen's settings may override
    /// it.
    pub performance_samples: u64,
    /// True if there is a label for each sample.
    pub has_labels: bool,
    /// LoadGen's TestSettings as they will be used, without the changes of an audit.config.
    pub test_settings: &'a BTreeMap<String, String>,
    /// LoadGen's description of itself.
    pub loadgen: &'a BuiltLoadGen,
    /// Part of the SUT's name that contains no names of nodes.
    pub sut_name_part: &'a str,
    /// Set for a run with digests (`--digests`), which accompanies a result and may be short.
    pub has_digests: bool,
    /// True if the model runs in this process.
    pub is_in_process: bool,
    /// Text of the audit.config that LoadGen will read, if there is one. It overrides all other
    /// settings.
    pub audit_config: Option<&'a str>,
    /// Engines of the nodes; empty if the nodes were not queried.
    pub engines: &'a [NodeEngine<'a>],
    /// Evidence about the machines; `None` if the machines were not queried.
    pub evidence: Option<&'a Evidence>,
}

/// Engine and model of a node.
#[derive(Debug, Clone, Copy)]
pub struct NodeEngine<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// Name of the engine.
    pub engine: &'a str,
    /// Name of the model.
    pub model: &'a str,
    /// SHA-256 of the model's file, in hex; empty without a model.
    pub model_sha256: &'a str,
    /// Version of the node's program.
    pub software_version: &'a str,
}

/// A tensor of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a> {
    /// Name of the tensor in the model.
    pub name: &'a str,
    /// Element type: uint8, int8, int32, int64, float16 or float32.
    pub data_type: &'a str,
    /// Length of each dimension; negative if it varies from sample to sample.
    pub shape: &'a [i64],
}

impl RunChoices<'_> {
    /// Returns true if the run measures performance for a result. A run with digests does not.
    pub(super) fn is_performance(&self) -> bool {
        self.mode != Mode::Accuracy && !self.has_digests
    }

    /// Returns the number of samples in the accuracy run: all, unless [`ACCURACY_COUNT`] leaves
    /// fewer.
    pub(super) fn accuracy_samples(&self) -> u64 {
        let count = self.test_settings.get(ACCURACY_COUNT).and_then(|count| count.parse().ok());
        let count = count.filter(|count| *count > 0);
        count.map_or(self.dataset_samples, |count| self.dataset_samples.min(count))
    }

    /// Returns the software of each node, such as its program, engine and model, by the node's
    /// name.
    pub(super) fn running(&self) -> BTreeMap<&str, NodeSoftware> {
        let machines = self.evidence.map(|evidence| &evidence.nodes);
        let of = |one: &NodeEngine<'_>| {
            NodeDescription {
                engine: one.engine,
                model: one.model,
                model_sha256: one.model_sha256,
                software_version: one.software_version,
                machine: machines.and_then(|machines| machines.get(one.node)),
            }
            .software()
        };
        self.engines.iter().map(|one| (one.node, of(one))).collect()
    }

    /// Returns true if the run measures accuracy.
    pub(super) fn is_accurate(&self) -> bool {
        matches!(self.mode, Mode::Accuracy | Mode::Submission)
    }
}

impl fmt::Display for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.shape.iter();
        let lengths = lengths.map(|n| if *n < 0 { "?".into() } else { n.to_string() });
        let lengths = lengths.collect::<Vec<_>>().join(", ");
        write!(f, "{} {}[{lengths}]", self.name, self.data_type)
    }
}
